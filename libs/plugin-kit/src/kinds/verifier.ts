import type { ComponentBase, Deadline, Log } from './component';
import type { Episode } from './episode';

export interface VerifierContext {
  log: Log;
}

/** Says whether a task was done. */
export interface Verifier {
  /** True or false; null where this verifier cannot judge the task. Never what the agent says of itself. */
  verify(episode: Episode, deadline: Deadline): Promise<boolean | null> | boolean | null;
}

export type VerifierComponent<Options = unknown> = ComponentBase<
  'verifier',
  Options,
  VerifierContext,
  Verifier
>;
