import { createHash } from 'node:crypto';

/** A part of a model input in a request. */
export type WireChunk =
  | { type: 'text'; tokens: readonly number[] }
  /** An encoded image as base64, at the position of its features. */
  | { type: 'image'; base64: string; expectedTokens?: number };

/** An array by position, or with a shape. */
export interface WireTensor {
  data: readonly number[];
  shape?: readonly number[];
}

export interface WireDatum {
  chunks: readonly WireChunk[];
  inputs: ReadonlyMap<string, WireTensor>;
}

/** `forward_backward` and `forward`, parsed from JSON or protobuf. */
export interface TrainingRequest {
  modelId: string;
  seqId?: number;
  lossFn: string;
  /** Options of the loss; losses here have no text options. */
  lossConfig: Readonly<Record<string, number | string>>;
  data: readonly WireDatum[];
  forwardOnly: boolean;
  /**
   * Whether to return log-probabilities or values of positions with weight 0: in `forward_backward` that needs a
   * separate pass.
   */
  scoresAll: boolean;
}

/** Equal for a repeated request, regardless of the order of its maps. */
export function digestOf(request: TrainingRequest): string {
  const hash = createHash('sha256');
  const { data, lossConfig, ...head } = request;
  hash.update(JSON.stringify([head, Object.entries(lossConfig).toSorted(byName)]));
  for (const { chunks, inputs } of data) {
    hash.update(JSON.stringify([chunks, [...inputs].toSorted(byName)]));
  }
  return hash.digest('hex');
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
