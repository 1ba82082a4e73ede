import type { DeviceMemory, SessionOptions, Tensor } from '@ui-rl/graph';
import type { Family, ParameterSource } from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import type { Feeds } from '../feeds';
import type { AccumulatedGradients } from '../training/accumulated-gradients';
import type { PassMode } from './graphs';
import type { Loss } from './objective';

/** Called after work on the device to let waiting work run. */
export type Pause = (workedMs: number) => Promise<void>;

export interface PassResult {
  /** Σ weight · loss */
  loss: number;
  /** [M] log-probabilities of the selected tokens, or values of a critic */
  scores: Float32Array;
  /** [M]; undefined for a critic */
  entropy?: Float32Array | undefined;
  /** metrics of the loss: sums over tokens, sequences or pairs, by name */
  metrics: Readonly<Record<string, number>>;
}

/** Executes passes over sequences, with pauses between their parts. Feeds may contain more than a pass needs. */
export interface PassRunner {
  /**
   * Adds the gradients of one pass to the accumulated ones and returns its loss. Gradients of weights that the pass
   * does not reach stay unchanged.
   */
  train(mode: PassMode, loss: Loss, feeds: Feeds, accumulated: AccumulatedGradients): Promise<PassResult>;
  /** Scores [M] of the selected tokens, see `PassResult`. */
  score(mode: PassMode, feeds: Feeds): Promise<Float32Array>;
  release(): Promise<void>;
}

export interface RunnerOptions {
  role: LossModel;
  family: Family;
  /** Creates a source for each graph. */
  parameters: () => ParameterSource;
  session: SessionOptions;
  memory: DeviceMemory;
  pause: Pause;
}

/** The feeds with these names. */
export function pick(feeds: Feeds, names: readonly string[]): Record<string, Tensor> {
  return Object.fromEntries(names.map((name) => [name, feeds[name]]));
}

/** The value of a scalar result. */
export function numberOf(result: Tensor): number {
  return Number(result.data[0]);
}
