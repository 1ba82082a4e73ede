import type { Task } from '@ui-rl/contracts';
import type { ComponentBase, Deadline, Log } from './component';
import type { Episode } from './episode';

export interface VerifierContext {
  log: Log;
}

/** Decides whether a task succeeded. */
export interface Verifier {
  /** True or false; null if this verifier cannot judge the task. Must not rely on the agent's claims. */
  verify(episode: Episode, deadline: Deadline): Promise<boolean | null> | boolean | null;
}

export interface VerifierComponent<Options = unknown> extends ComponentBase<
  'verifier',
  Options,
  VerifierContext,
  Verifier
> {
  /**
   * Whether it can judge a task, as far as the task itself shows: if it cannot and no reward of the run judges, the
   * start rejects the task. Default: it can judge every task. If `verify` returns null for such a task, the training
   * episode is invalid.
   */
  judges?(task: Task): boolean;
}
