import type { Action } from '@ui-rl/actions';
import type { Task } from '@ui-rl/contracts';
import type { PretrainingSupport } from './pretraining';
import type { ComponentBase, Deadline, Log } from './component';

export interface TaskSourceContext {
  log: Log;
  /** The whole task for a sentence, by whichever source knows one; null where none does. */
  resolve(sentence: string): Task | null;
  /** What the variables of the component's `environment` say on this machine; those that are not set are missing. */
  variables?: Readonly<Record<string, string>>;
  /** Name of the environment that the run plays tasks in which name none; undefined where they are loaded for no run. */
  environment?: string | undefined;
  /** Whether a goal in words alone can be played there. */
  opensByItself?: boolean;
}

/** Tasks that are read where they are needed, since there may be more of them than memory holds. */
export interface StoredTasks {
  /**
   * All of them, some at a time, in an order that stays the same. Throws a `PluginError` `option` that names what is wrong, and where it
   * stands.
   */
  read(): AsyncIterable<readonly Task[]>;
  /** The one at a place of that order, which `read` has passed. */
  at(place: number): Promise<Task>;
  /** Where that one stands, for people: `tasks.jsonl, line 7`. */
  where(place: number): string;
  close(): Promise<void>;
}

/** Tasks for a run. Which of them are taken, the options say that every source has: category, difficulty, tags, limit … */
export interface TaskSource {
  /** Tasks with id, environment and checks. Throws a `PluginError` `option` that names what is wrong. */
  load(deadline: Deadline): Promise<Task[]> | Task[];
  /** The same, in place of `load`, where there may be many. */
  open?(deadline: Deadline): Promise<StoredTasks>;
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
  /** Where the variable is not set: a folder of UIRL_CACHE_DIR, and the command that puts the files there. */
  fetched?: { into: string; by: string };
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
  /** Variables of the machine that it reads → what each says: where such files are, which servers may be asked, keys. */
  environment?: Readonly<Record<string, string>>;
  /** Script name → file that an environment runs in a page before the page's own scripts, where the task names it. */
  scripts?: Readonly<Record<string, string>>;
  /** The next right action for a task of this source in a state, for demonstrations and tests. */
  oracle?(task: Task, state: unknown): Action;
  /** What a small model is pre-trained on, where the source offers it. */
  pretraining?: PretrainingSupport;
}
