import type { Task } from '@ui-rl/contracts';
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

export interface VerifierComponent<Options = unknown> extends ComponentBase<
  'verifier',
  Options,
  VerifierContext,
  Verifier
> {
  /**
   * Whether it can judge a task, as far as the task itself says: where it cannot and no reward of the run judges, the start refuses the task.
   * Default: it can judge every one. A training episode of which it says null nevertheless is invalid then.
   */
  judges?(task: Task): boolean;
}
