import type { Scores } from './probe';
import type { Adapter } from './protocol';

/** Published weights. */
export interface Version extends Adapter {
  weights: string;
  digest: string;
  /** Whether it is the base model, so that there is nothing to load. */
  isBase: boolean;
  /** The folder the engine wrote them to. */
  dir: string;
  /** The engine's probe scores. */
  scores: Scores;
  /** Requests in progress. */
  users: number;
  retired: boolean;
}
