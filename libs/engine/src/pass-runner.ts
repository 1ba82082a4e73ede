import type { PolicyLoss } from '@ui-rl/algorithms';
import type { Tensor } from '@ui-rl/graph';
import type { AccumulatedGradients } from './accumulated-gradients';
import type { ImageMode } from './trainer-graph';

export type Feeds = Readonly<Record<string, Tensor>>;

/** After some work on the device: lets others that want it have their turn. */
export type Pause = (workedMs: number) => Promise<void>;

export interface PassResult {
  loss: number;
  /** [M] each */
  logp: Float32Array;
  entropy: Float32Array;
}

/** How passes over sequences are carried out, with pauses between parts of them. Feeds may hold more than a pass needs. */
export interface PassRunner {
  /**
   * Loss and gradients of one pass, added to `accumulated`. Those of weights that the pass does not reach stay as they are.
   */
  train(
    mode: ImageMode,
    loss: PolicyLoss,
    feeds: Feeds,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult>;
  /** Log-probabilities [M] of the selected tokens. */
  score(mode: ImageMode, feeds: Feeds): Promise<Float32Array>;
  release(): Promise<void>;
}
