import type { Action, Point } from '@ui-rl/actions';
import type { Reply, Screenshot, Task } from '@ui-rl/contracts';
import type { ComponentBase, Deadline, Log } from './component';

/** Program name → path. The service determines the programs that it starts; a run file never does. */
export type Programs = Readonly<Record<string, string | undefined>>;

export interface EnvironmentContext {
  /** Page name → folder with its `index.html`, from all task sources. */
  pages: Readonly<Record<string, string>>;
  /** Pages whose files this machine does not provide → what is missing. */
  absentPages?: Readonly<Record<string, string>>;
  /** Script name → file, from all task sources: runs before a page's own scripts, for tasks that name it. */
  scripts?: Readonly<Record<string, string>>;
  /** Maximum number of open sessions. */
  maxSessions: number;
  /** Paths of programs that the operator configures, such as `chromium`; the environment finds the others itself. */
  programs: Programs;
  /** Values of the variables of the component's `environment` on this machine; unset ones are missing. */
  variables?: Readonly<Record<string, string>>;
  log: Log;
}

export interface OpenOptions {
  task: Task;
  /** Seed of the initial state: the same seed gives the same first frame. */
  seed: number;
  /** Name of the episode in records; optional. */
  episode?: string;
}

/**
 * A running environment. Expected failures (a page that crashed, a deadline that passed) are values of
 * `Reply`; after a failed `step` the session is over.
 */
export interface Environment {
  open(options: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>>;
  /** Ends every session and stops all processes behind them. */
  close(): Promise<void>;
}

export interface StepOutcome {
  screenshot: Screenshot;
  /** `ok`, or the error of the action (`outside_viewport`, `blocked_navigation` …). */
  outcome: string;
  /** Whether the environment ended the episode. */
  done: boolean;
  /**
   * The state after the action, for rewards per turn; undefined or null if the environment reports state only at the
   * end.
   */
  state?: Record<string, unknown> | null;
}

/** An element that a user may write a check for. */
export interface SurveyedElement {
  /** CSS selector that matches only this element. */
  selector: string;
  /** Human-readable name: its label or text. */
  label: string;
  visible: boolean;
  /** Value of a form field; never of a password field. */
  value?: string;
  /** State of a checkbox, toggle button or switch. */
  checked?: boolean;
  /** Text of an element without child elements. */
  text?: string;
  /** Attributes that describe a state, such as `aria-expanded`. */
  attributes: Readonly<Record<string, string>>;
}

/** The element with the keyboard focus. */
export interface Focus {
  /**
   * CSS selector that matches only this element; within a frame, the selector of the frame, ` >> ` and the selector
   * inside it.
   */
  selector: string;
  /** Whether its input is private. */
  isSecret: boolean;
  /** Content of a secret field, so that it can be masked everywhere; never write or show it. */
  value?: string;
}

/** The facts that an environment reports to a person who writes checks: bounded in size, and not judged. */
export interface Survey {
  url: string;
  /** Whether another seed may start differently. */
  isSeeded: boolean;
  /** The visible text, by line. */
  lines: readonly string[];
  elements: readonly SurveyedElement[];
  /** Storage → key → value. */
  storage: Readonly<Record<'local' | 'session', Readonly<Record<string, string>>>>;
  /** The state that the page publishes; null if it publishes none. */
  state: Readonly<Record<string, unknown>> | null;
  /** Expression in the page's window → its JSON value. */
  globals: Readonly<Record<string, unknown>>;
  /** Allowed requests since the first survey, with addresses cut after the path. */
  requests: readonly { method: string; url: string }[];
  /** Selector of the element at the requested point. */
  target: string | null;
  /** The focused element, in any frame. */
  focus: Focus | null;
}

/** One episode. Calls are sequential. */
export interface EnvironmentSession {
  /** The first frame. */
  readonly screenshot: Screenshot;
  /** The state of the first frame; undefined or null if the environment reports none. */
  readonly state?: Record<string, unknown> | null;
  /**
   * Whether the environment handles the finish action itself: a server may pay a reward or end the episode then.
   * Default: the episode is closed without a further step.
   */
  readonly takesFinish?: boolean;
  step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>>;
  /**
   * Reads the current state; the episode continues. Undefined if the environment can read its state only at the end.
   */
  inspect?(deadline: Deadline): Promise<Reply<Record<string, unknown> | null>>;
  /**
   * Reports what checks could refer to, and the element at a point of the screenshot. Must not change the
   * environment. Optional.
   */
  survey?(at: Point | null, deadline: Deadline): Promise<Reply<Survey>>;
  /** Cookies and storage of a login, for `storage_state` of a task. A secret. Optional. */
  storageState?(deadline: Deadline): Promise<Reply<object>>;
  /** Reads the state that verifiers judge (null if the environment has none) and ends the episode. */
  close(deadline: Deadline): Promise<Reply<Record<string, unknown> | null>>;
  /** Ends the episode without reading its state. Never throws. */
  discard(): Promise<void>;
}

/** Creates environments: browsers, desktops, phones. `task.environment.kind` names the component. */
export interface EnvironmentComponent<Options = unknown> extends ComponentBase<
  'environment',
  Options,
  EnvironmentContext,
  Promise<Environment>
> {
  /**
   * Environment variables of the service that it reads, with descriptions: keys, and files with permissions of the
   * operator, which no run file may name.
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Default rewards of a run in this environment, for environments whose state contains the reward, regardless of a
   * task's checks. Undefined: the run file's default.
   */
  readonly defaultRewards?: readonly string[];
  /** Whether a goal in words is a complete task, because the environment needs nothing to open. Default false. */
  readonly opensByItself?: boolean;
  /** Whether these options create phones, for which some models have separate actions. Default false. */
  isPhone?(options: Options): boolean;
}
