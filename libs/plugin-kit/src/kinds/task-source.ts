import type { Action } from '@ui-rl/actions';
import type { Task } from '@ui-rl/contracts';
import type { PretrainingSupport } from './pretraining';
import type { ComponentBase, Deadline, Log } from './component';

export interface TaskSourceContext {
  log: Log;
}

/** Tasks for a run. */
export interface TaskSource {
  /** Tasks with id, environment and checks. Throws a `PluginError` `option` that names what is wrong. */
  load(deadline: Deadline): Promise<Task[]> | Task[];
}

/** A task source as a run file chooses it, with its options. */
export interface TaskSourceChoice {
  source_type: string;
  [option: string]: unknown;
}

/** A page whose files are somebody else's: they lie below the folder that a variable of the service names. */
export interface PageOfMachine {
  /** Variable that names a folder, one of the source's `environment`. */
  variable: string;
  /** Where the page lies in it; default: the folder itself. */
  folder?: string;
}

/** Brings tasks into a run. `tasks: {source_type: <name>, …}`; what stands beside `source_type` are its options. */
export interface TaskSourceComponent<Options = unknown> extends ComponentBase<
  'task-source',
  Options,
  TaskSourceContext,
  TaskSource
> {
  /** The whole task for a description published by hand, or null where the source knows none. */
  resolve?(description: string): Task | null;
  /** Page name → folder with its `index.html`, or where a machine says its files are; environments show it under the name. */
  pages?: Readonly<Record<string, string | PageOfMachine>>;
  /** Variables that say where such files are → what each says. */
  environment?: Readonly<Record<string, string>>;
  /** Script name → file that an environment runs in a page before the page's own scripts, where the task names it. */
  scripts?: Readonly<Record<string, string>>;
  /** The next right action for a task of this source in a state, for demonstrations and tests. */
  oracle?(task: Task, state: unknown): Action;
  /** What a small model is pre-trained on, where the source offers it. */
  pretraining?: PretrainingSupport;
}
