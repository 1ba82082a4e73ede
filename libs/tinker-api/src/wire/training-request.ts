import { createHash } from 'node:crypto';

/** A part of a model input as a client sends it. */
export type WireChunk =
  | { type: 'text'; tokens: readonly number[] }
  /** An encoded image as base64; it stands where its features go. */
  | { type: 'image'; base64: string; expectedTokens?: number };

/** An array by position, or what its shape says. */
export interface WireTensor {
  data: readonly number[];
  shape?: readonly number[];
}

export interface WireDatum {
  chunks: readonly WireChunk[];
  inputs: ReadonlyMap<string, WireTensor>;
}

/** `forward_backward` and `forward`, as JSON or protobuf brought it. */
export interface TrainingRequest {
  modelId: string;
  seqId?: number;
  lossFn: string;
  /** Options of the loss; losses here have no texts. */
  lossConfig: Readonly<Record<string, number | string>>;
  data: readonly WireDatum[];
  forwardOnly: boolean;
  /** Whether log-probabilities or values of positions of weight 0 are asked for: in `forward_backward` a pass of their own. */
  scoresAll: boolean;
}

/** The same for a request that is sent again, whatever the order of its maps. */
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
