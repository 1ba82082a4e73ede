import { promptChunks } from '@ui-rl/models';
import type { ComponentChoice, Datum, Engine, LossInput, ModelName } from '@ui-rl/plugin-kit';
import { EngineError } from './errors';

/** A rendered sequence, with the mask of trained tokens; arrays are as long as `tokenIds`. */
export interface TrainedSequence {
  /** Includes image placeholders. */
  tokenIds: ArrayLike<number>;
  /** In order of their placeholders. */
  images: readonly { sha256: string; tokens: number }[];
  /** 1 if the token is trained, that is, predicted from the position before it. */
  mask: ArrayLike<number>;
}

export interface DatumOptions {
  imageTokenId: number;
  /** Weight of each trained token. Default 1. */
  weight?: number;
  /** By token, like `mask`. */
  lossInputs?: Readonly<Partial<Record<LossInput, ArrayLike<number>>>>;
  temperature?: number;
}

/**
 * Converts a sequence to a datum whose position i predicts token i + 1.
 * @throws EngineError `request` if its first token is trained
 * @throws ModelError `bad-input` if the number of placeholders differs from the features of its images
 */
export function datumOf(sequence: TrainedSequence, options: DatumOptions): Datum {
  const { tokenIds, images, mask } = sequence;
  const { imageTokenId, weight = 1, lossInputs = {}, temperature } = options;
  if (mask[0] !== 0) {
    throw new EngineError('request', 'the first token of a sequence is trained, which nothing precedes');
  }
  const shifted = (values: ArrayLike<number>): number[] => Array.from(values).slice(1);
  const inputs = Object.entries(lossInputs).map(([name, values]) => [name, shifted(values)] as const);
  return {
    modelInput: { chunks: promptChunks(Array.from(tokenIds).slice(0, -1), images, imageTokenId) },
    targetTokens: shifted(tokenIds),
    weights: shifted(mask).map((isTrained) => (isTrained === 0 ? 0 : isTrained * weight)),
    lossInputs: Object.fromEntries(inputs),
    temperature,
  };
}

/**
 * Log-probabilities of a datum's targets [L] as values of its sequence's tokens [L + 1]; NaN for the first, which is
 * not predicted.
 */
export function byToken(logprobs: Float32Array): Float32Array {
  const tokens = new Float32Array(logprobs.length + 1).fill(Number.NaN);
  tokens.set(logprobs, 1);
  return tokens;
}

export interface SupervisedOptions {
  imageTokenId: number;
  /** A loss that reads only the targets. */
  loss: ComponentChoice;
  optimizer: ComponentChoice;
  learningRate: number;
  /** Default `policy`. */
  model?: ModelName;
  /** Default 1. */
  maxGradNorm?: number;
}

/** Takes one optimizer step on the mean loss of all trained tokens; returns that loss and its gradient norm. */
export async function supervisedStep(
  engine: Engine,
  sequences: readonly TrainedSequence[],
  { imageTokenId, loss, model = 'policy', maxGradNorm = 1, ...options }: SupervisedOptions,
): Promise<{ loss: number; gradNorm: number }> {
  const trained = sequences.reduce((count, { mask }) => count + Array.from(mask).filter(Boolean).length, 0);
  const data = sequences.map((sequence) => datumOf(sequence, { imageTokenId, weight: 1 / trained }));
  const passed = await engine.forwardBackward({ model, data, loss });
  try {
    const { optimizer, learningRate } = options;
    const stepped = await engine.optimStep({ model, optimizer, learningRate, maxGradNorm });
    return { loss: passed.metrics.loss, gradNorm: stepped.metrics.grad_norm };
  } catch (error) {
    // Otherwise the next step would include them.
    await engine.discardGradients(model).catch(() => undefined);
    throw error;
  }
}
