import type { LossInput } from '@ui-rl/plugin-kit';
import type { ProcessedImage } from '@ui-rl/models';

/** A model input with its loaded images. */
export interface ResolvedInput {
  /** Includes image placeholders. */
  tokenIds: ArrayLike<number>;
  /** In order of their placeholders. */
  images: readonly ProcessedImage[];
}

/** A datum as it is trained or scored; see `Datum` for its arrays, [L] each. */
export interface TrainingDatum extends ResolvedInput {
  targets: ArrayLike<number>;
  weights: ArrayLike<number>;
  lossInputs: Readonly<Partial<Record<LossInput, ArrayLike<number>>>>;
  /** Greater than 0. */
  temperature: number;
  /** [L] see `Datum`. */
  keptTokens?: readonly ArrayLike<number>[];
  sequence?: string;
  pair?: { id: string; side: 'chosen' | 'rejected' };
}

/** Whether any position of a datum is trained. */
export function isTrained({ weights }: Pick<TrainingDatum, 'weights'>): boolean {
  return Array.prototype.some.call(weights, (weight: number) => weight !== 0);
}
