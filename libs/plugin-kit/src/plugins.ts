import type { Action } from '@ui-rl/actions';
import type { Reply, Screenshot, Task, TrajectoryStatus } from '@ui-rl/contracts';

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

/** A visible element as a page describes it. Box is [x, y, width, height] in pixels. */
export interface DescribedElement {
  kind: string;
  label: string;
  box: [number, number, number, number];
  value?: string;
  focused?: boolean;
}

/** What the oracle looks at: what the page's `uirl.state()` and `uirl.describe()` return. */
export interface OracleObservation {
  state: Record<string, unknown>;
  elements: DescribedElement[];
}

export interface PretrainingGoal {
  task: Task;
  /** Screen where the goal is decided. */
  place: string;
  /** It means the same as a goal of the evaluation and is never demonstrated. */
  evaluation: boolean;
}

/** Screens and goals to pre-train a small model on. The oracle of the same source shows how goals are reached. */
export interface PretrainingSupport {
  viewport: { width: number; height: number };
  /** Every word of labels, goals and screen descriptions; numbers are not among them. */
  vocabulary(): string[];
  goals(): Iterable<PretrainingGoal>;
  /** The same task from another screen. */
  startingFrom(task: Task, screen: string): Task;
  /** A screen as text, one line per element. */
  sceneText: (elements: readonly DescribedElement[]) => string;
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

/** How long an operation may take: until `deadlineAt`, or until `signal` aborts. */
export interface Deadline {
  /** Milliseconds since the epoch. */
  deadlineAt: number;
  signal: AbortSignal;
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

export interface OpenOptions {
  task: Task;
  /** Seeds the environment's initial state: the same seed gives the same first frame. */
  seed: number;
}

/**
 * A running environment. Expected failures of the world (a page that crashed, a deadline that passed) are values of
 * `Reply`; after a failed `step` the session is over.
 */
export interface Environment {
  open(options: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>>;
  /** Ends every session and whatever runs behind them. */
  close(): Promise<void>;
}

export interface StepOutcome {
  screenshot: Screenshot;
  /** `ok`, or what was wrong with the action (`outside_viewport`, `blocked_navigation` …). */
  outcome: string;
  /** The environment itself ended the episode. */
  done: boolean;
}

/** One episode. The caller asks for one thing at a time. */
export interface EnvironmentSession {
  /** The first frame. */
  readonly screenshot: Screenshot;
  step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>>;
  /** Reads the state verifiers judge (null where the environment has none) and ends the episode. */
  close(deadline: Deadline): Promise<Reply<Record<string, unknown> | null>>;
  /** Ends the episode without asking for its state. Never throws. */
  discard(): Promise<void>;
}

export type Plugin = TaskSourcePlugin | RewardPlugin | EnvironmentPlugin;
