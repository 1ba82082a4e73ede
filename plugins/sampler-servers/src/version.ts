import type { Scores } from './probe';
import type { Adapter } from './protocol';

/** Published weights. */
export interface Version extends Adapter {
  weights: string;
  digest: string;
  /** The model without an adapter: there is nothing to load. */
  isBase: boolean;
  /** Where the engine wrote them. */
  dir: string;
  /** What the engine says of the probes. */
  scores: Scores;
  /** Requests that are being answered. */
  users: number;
  retired: boolean;
}
