import type { Action } from '@ui-rl/actions';
import type { Task } from '@ui-rl/contracts';
import type { ComponentBase, Deadline, Log } from './component';

export interface TaskSourceContext {
  log: Log;
  /** The whole task for a sentence, from any source that knows it; null if none does. */
  resolve(sentence: string): Task | null;
  /** Values of the variables of the component's `environment` on this machine; unset ones are missing. */
  variables?: Readonly<Record<string, string>>;
  /** The run's environment for tasks that name none; undefined if the tasks are loaded outside a run. */
  environment?: string | undefined;
  /** Whether a goal in words is a complete task there. */
  opensByItself?: boolean;
}

/** Tasks that are read on demand, because there may be more of them than fit into memory. */
export interface StoredTasks {
  /**
   * All tasks in chunks, always in the same order. Throws a `PluginError` `option` that names the fault and its
   * position.
   */
  read(): AsyncIterable<readonly Task[]>;
  /** The task at an index of that order, which `read` has passed. */
  at(place: number): Promise<Task>;
  /** Position of that task, for messages: `tasks.jsonl, line 7`. */
  where(place: number): string;
  close(): Promise<void>;
}

/**
 * Provides the tasks of a run. The common options of all sources select among them: category, difficulty, tags, limit
 * …
 */
export interface TaskSource {
  /** Tasks with id, environment and checks. Throws a `PluginError` `option` that names the fault. */
  load(deadline: Deadline): Promise<Task[]> | Task[];
  /** Replaces `load` if there may be many tasks. */
  open?(deadline: Deadline): Promise<StoredTasks>;
}

/** A task source in a run file, with its options. */
export interface TaskSourceChoice {
  source_type: string;
  [option: string]: unknown;
}

/** A page whose files are not part of the source: they are in the folder that a variable of the service names. */
export interface PageOfMachine {
  /** Variable that names a folder, one of the source's `environment`. */
  variable: string;
  /** Path of the page in it. Default: the folder itself. */
  folder?: string;
  /** Used if the variable is not set: a folder of UIRL_CACHE_DIR, and the command that downloads the files to it. */
  fetched?: { into: string; by: string };
}

/** Provides tasks to a run: `tasks: {source_type: <name>, …}`. The other keys are its options. */
export interface TaskSourceComponent<Options = unknown> extends ComponentBase<
  'task-source',
  Options,
  TaskSourceContext,
  TaskSource
> {
  /** The whole task for a description published by hand; null if the source does not know it. */
  resolve?(description: string): Task | null;
  /** Page name → folder with its `index.html`, or the setting that names it; environments serve it under the name. */
  pages?: Readonly<Record<string, string | PageOfMachine>>;
  /** Variables of the machine that it reads, with descriptions: folders of such files, allowed servers, keys. */
  environment?: Readonly<Record<string, string>>;
  /** Script name → file that runs before a page's own scripts, if the task names it. */
  scripts?: Readonly<Record<string, string>>;
  /** The next correct action for a task of this source in a state, for demonstrations and tests. */
  oracle?(task: Task, state: unknown): Action;
}
