import { NOTHING_COMPARED, type Comparison, type Score } from './scores';

/** What the collapse guard remembers: part of a checkpoint's `state.json`. */
export interface GuardState {
  /** Of each task the latest scores, a batch each, oldest first. */
  scores: [task: string, scores: Score[]][];
  /** Readable answers of the latest batches, oldest first. */
  readable: Score[];
  /** The newest step whose weights did as well as any before; null before the first batch. */
  best: number | null;
  /** Batches in a row without a learning signal. */
  quiet: number;
  /** Whether any batch had one. */
  hadSignal: boolean;
  /** The batches in a row that did worse than those before. */
  worse: Comparison;
  worseBatches: number;
  /** Batches in a row far below the best. */
  low: number;
  /** Episodes in a row that succeeded, of batches without a learning signal. */
  solvedEpisodes: number;
  /** Times that the run went back. */
  restores: number;
  /** Factor of the learning rate. */
  learningRate: number;
  /** Episodes of older policies are not trained: the run has gone back since. */
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
