import type { Action } from '@ui-rl/actions';
import type { Task, TrajectoryStatus } from '@ui-rl/contracts';
import type { Environment, PretrainingSupport } from './kinds';

export const PLUGIN_KINDS = ['task-source', 'reward', 'environment'] as const;
export type PluginKind = (typeof PLUGIN_KINDS)[number];

/** One entry of `tasks` or `eval_tasks` in the run file, keys as the user writes them. */
export interface TaskSourceConfig {
  /** Chooses the plugin: one of its `sourceTypes`. */
  source_type: string;
  /** Further options of the source: `category`, `difficulty`, `limit`, `seed`, `task_ids` … */
  [option: string]: unknown;
}

/** Brings tasks into a run. */
export interface TaskSourcePlugin {
  kind: 'task-source';
  name: string;
  /** The `source_type`s it answers, e.g. `demo_training`. */
  sourceTypes: string[];
  /** Tasks with id, environment and checks. Throws a `PluginError` that names an unknown or wrong option. */
  load(config: TaskSourceConfig): Promise<Task[]>;
  /** The whole task for a description published by hand, or null where the source knows none. */
  resolve?(description: string): Task | null;
  /** Page name → folder with its `index.html`; environments show it under the name. */
  pages?: Record<string, string>;
  /** The next right action for a task of this source in a state, for demonstrations and tests. */
  oracle?(task: Task, state: unknown): Action;
  /** What a small model is pre-trained on, where the source offers it. */
  pretraining?: PretrainingSupport;
}

export interface RewardInput {
  task: Task;
  /** What the verifier says; null where the task has no checks. */
  success: boolean | null;
  /** `invalid` episodes are never scored. */
  status: Exclude<TrajectoryStatus, 'invalid'>;
  /** Turns played. */
  turns: number;
  /** The state the verifier judged; null where the environment reports none. */
  finalState: Record<string, unknown> | null;
}

/** Scores an episode. The parts of all reward plugins are summed. */
export interface RewardPlugin {
  kind: 'reward';
  name: string;
  score(input: RewardInput): number | Promise<number>;
}

export interface EnvironmentOptions {
  /** Page name → folder with its `index.html`, from all task sources. */
  pages: Record<string, string>;
  /** Sessions that may be open at once. */
  maxSessions: number;
  /** Options of the environment plugin, as the user wrote them. An unknown one is refused by name. */
  settings: Record<string, unknown>;
  log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;
}

/** Makes environments: browsers, desktops, phones. */
export interface EnvironmentPlugin {
  kind: 'environment';
  /** What `task.environment.kind` names. */
  name: string;
  create(options: EnvironmentOptions): Promise<Environment>;
}

export type Plugin = TaskSourcePlugin | RewardPlugin | EnvironmentPlugin;
