import { NOTHING_COMPARED, type Comparison, type Score } from './scores';

/** State of the collapse guard: part of a checkpoint's `state.json`. */
export interface GuardState {
  /** The latest scores of each task, one per batch, oldest first. */
  scores: [task: string, scores: Score[]][];
  /** Parsable answers of the latest batches, oldest first. */
  readable: Score[];
  /** The latest step whose weights performed as well as any before; null before the first batch. */
  best: number | null;
  /** Number of consecutive batches without a learning signal. */
  quiet: number;
  /** Whether any batch had one. */
  hadSignal: boolean;
  /** The consecutive batches that performed worse than those before. */
  worse: Comparison;
  worseBatches: number;
  /** Number of consecutive batches far below the best. */
  low: number;
  /** Number of consecutive successful episodes in batches without a learning signal. */
  solvedEpisodes: number;
  /** Number of restores. */
  restores: number;
  /** Factor on the learning rate. */
  learningRate: number;
  /** Episodes of policies before this step are not trained on: the run has gone back since. */
  notBefore: number;
  /** Why the run ends. */
  ended?: string;
}

export function firstState(): GuardState {
  return {
    ...{ scores: [], readable: [], best: null, quiet: 0, hadSignal: false, low: 0, solvedEpisodes: 0 },
    ...{ worse: NOTHING_COMPARED, worseBatches: 0 },
    ...{ restores: 0, learningRate: 1, notBefore: 0 },
  };
}
