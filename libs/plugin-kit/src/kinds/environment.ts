import type { Action, Point } from '@ui-rl/actions';
import type { Reply, Screenshot, Task } from '@ui-rl/contracts';
import type { ComponentBase, Deadline, Log } from './component';

/** What a program is → its path. A run never says which program is started: the service that starts it does. */
export type Programs = Readonly<Record<string, string | undefined>>;

export interface EnvironmentContext {
  /** Page name → folder with its `index.html`, from all task sources. */
  pages: Readonly<Record<string, string>>;
  /** Pages whose files this machine does not name → what is missing. */
  absentPages?: Readonly<Record<string, string>>;
  /** Script name → file, from all task sources: run in pages of tasks that name it, before the page's own scripts. */
  scripts?: Readonly<Record<string, string>>;
  /** Sessions that may be open at once. */
  maxSessions: number;
  /** Programs of this machine as its owner names them, such as `chromium`; what is not named, an environment finds itself. */
  programs: Programs;
  /** What the variables of the component's `environment` say on this machine; those that are not set are missing. */
  variables?: Readonly<Record<string, string>>;
  log: Log;
}

export interface OpenOptions {
  task: Task;
  /** Seeds the environment's initial state: the same seed gives the same first frame. */
  seed: number;
  /** What the episode is called where it is recorded; absent where nobody said. */
  episode?: string;
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
  /** The state after the action, for rewards that pay by turns; absent or null where it reports none but at the end. */
  state?: Record<string, unknown> | null;
}

/** An element that somebody may write a check of. */
export interface SurveyedElement {
  /** CSS that finds it alone. */
  selector: string;
  /** What a person would call it: its label or text. */
  label: string;
  visible: boolean;
  /** Of what has one; never that of a password. */
  value?: string;
  /** Of what can be checked, pressed or switched. */
  checked?: boolean;
  /** Of an element without others in it. */
  text?: string;
  /** Those that tell a state, such as `aria-expanded`. */
  attributes: Readonly<Record<string, string>>;
}

/** What has the keyboard. */
export interface Focus {
  /** CSS that finds it alone; of what is in a frame that of the frame, and behind ` >> ` its own there. */
  selector: string;
  /** Whether what is typed there is nobody's business. */
  isSecret: boolean;
  /** What a secret one holds: so that it can be kept out of everything, and never to be written or shown. */
  value?: string;
}

/** What an environment tells of itself to a person who writes checks: all of it bounded, none of it judged. */
export interface Survey {
  url: string;
  /** Whether another seed may begin in another way. */
  isSeeded: boolean;
  /** What is shown as text, a line each. */
  lines: readonly string[];
  elements: readonly SurveyedElement[];
  /** Storage → key → value. */
  storage: Readonly<Record<'local' | 'session', Readonly<Record<string, string>>>>;
  /** What the page calls its state; null where it has none. */
  state: Readonly<Record<string, unknown>> | null;
  /** Expression in the page's window → its value, as JSON has it. */
  globals: Readonly<Record<string, unknown>>;
  /** Let through since the first survey, without what follows the path. */
  requests: readonly { method: string; url: string }[];
  /** Selector of what lies at the point that was asked about. */
  target: string | null;
  /** What has the keyboard, in whichever frame. */
  focus: Focus | null;
}

/** One episode. The caller asks for one thing at a time. */
export interface EnvironmentSession {
  /** The first frame. */
  readonly screenshot: Screenshot;
  /** The state of the first frame; absent or null where the environment has none. */
  readonly state?: Record<string, unknown> | null;
  /**
   * That the agent has finished is an action like others here, and what comes of it the environment's own to say: a server pays then, or
   * ends. Absent: the episode is closed, and no step asked for.
   */
  readonly takesFinish?: boolean;
  step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>>;
  /** Reads the state as it is now; the episode goes on. Absent where an environment can read it at the end only. */
  inspect?(deadline: Deadline): Promise<Reply<Record<string, unknown> | null>>;
  /** What could be checked of it, and what lies at a point of the screenshot. Changes nothing. Not every environment can tell. */
  survey?(at: Point | null, deadline: Deadline): Promise<Reply<Survey>>;
  /** What a login has stored, as `storage_state` of a task would bring it again. A secret. Not every environment has it. */
  storageState?(deadline: Deadline): Promise<Reply<object>>;
  /** Reads the state verifiers judge (null where the environment has none) and ends the episode. */
  close(deadline: Deadline): Promise<Reply<Record<string, unknown> | null>>;
  /** Ends the episode without asking for its state. Never throws. */
  discard(): Promise<void>;
}

/** Makes environments: browsers, desktops, phones. `task.environment.kind` names the component. */
export interface EnvironmentComponent<Options = unknown> extends ComponentBase<
  'environment',
  Options,
  EnvironmentContext,
  Promise<Environment>
> {
  /**
   * Environment variables of the service that it reads, and what each says: keys, and files with what this machine's owner allows,
   * which no run file may name.
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Names of the rewards of a run that names none: for environments whose state says what an episode is worth, whatever a task checks. Absent:
   * those of the run file's default.
   */
  readonly defaultRewards?: readonly string[];
  /** Whether an episode can begin with a goal in words alone, since no task has to say what is opened. Default false. */
  readonly opensByItself?: boolean;
  /** Whether it is phones that these options bring: what a model has words of its own for. Absent: it is not. */
  isPhone?(options: Options): boolean;
}
