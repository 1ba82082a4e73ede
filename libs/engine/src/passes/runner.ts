import type { DeviceMemory, SessionOptions, Tensor } from '@ui-rl/graph';
import type { Family, ParameterSource } from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import type { Feeds } from '../feeds';
import type { AccumulatedGradients } from '../training/accumulated-gradients';
import type { PassMode } from './graphs';
import type { Loss } from './objective';

/** After some work on the device: lets others that want it have their turn. */
export type Pause = (workedMs: number) => Promise<void>;

export interface PassResult {
  /** Σ weight · loss */
  loss: number;
  /** [M] log-probabilities of the selected tokens, or values where the model is a critic */
  scores: Float32Array;
  /** [M]; not of a critic */
  entropy?: Float32Array | undefined;
  /** metrics of the loss: sums over tokens, sequences or pairs, by name */
  metrics: Readonly<Record<string, number>>;
}

/** How passes over sequences are carried out, with pauses between parts of them. Feeds may hold more than a pass needs. */
export interface PassRunner {
  /**
   * Loss and gradients of one pass, added to those accumulated. Those of weights that the pass does not reach stay as they are.
   */
  train(mode: PassMode, loss: Loss, feeds: Feeds, accumulated: AccumulatedGradients): Promise<PassResult>;
  /** Scores [M] of the selected tokens, see `PassResult`. */
  score(mode: PassMode, feeds: Feeds): Promise<Float32Array>;
  release(): Promise<void>;
}

export interface RunnerOptions {
  role: LossModel;
  family: Family;
  /** A fresh source for each graph. */
  parameters: () => ParameterSource;
  session: SessionOptions;
  memory: DeviceMemory;
  pause: Pause;
}

/** The feeds of these names. */
export function pick(feeds: Feeds, names: readonly string[]): Record<string, Tensor> {
  return Object.fromEntries(names.map((name) => [name, feeds[name]]));
}

/** The number that a scalar result holds. */
export function numberOf(result: Tensor): number {
  return Number(result.data[0]);
}
