import type { ComponentKind } from '../component-kind';
import type { OptionsClass, OptionsDescription } from '../options';

/**
 * What every component says of itself. `Options` are its options as a run file gives them, checked and completed; `Made` is
 * what a service works with.
 */
export interface ComponentBase<Kind extends ComponentKind, Options, Context, Made> {
  readonly kind: Kind;
  /** How a run file names it: lower-case words joined by `-` or `_`; unique within its kind. */
  readonly name: string;
  /** One sentence for `ui-rl plugins` and the reference. */
  readonly description?: string;
  /**
   * A class with class-validator decorators, whose initializers are the defaults and whose `@Doc` decorators are its help; or a
   * plain description of the options, from which such a class is made. None: the component has no options. What is declared
   * as a file (`LocalFile`, `type: 'file'`) is the path of a copy on this machine when the component is made.
   */
  readonly options?: OptionsClass<Options & object> | OptionsDescription;
  /**
   * Why these options do not go together with the rest of the run file, one sentence each; asked when a run file is read. Errors of
   * `create` come later, when a service makes the component.
   */
  conflicts?(options: Options, run: RunView): readonly string[];
  create(options: Options, context: Context): Made;
}

/** A checked run file by groups, as `conflicts` may look at it: `run.model.use_lora`. */
export type RunView = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** How long an operation may take: until `deadlineAt`, or until `signal` aborts. */
export interface Deadline {
  /** Milliseconds since the epoch. */
  deadlineAt: number;
  signal: AbortSignal;
}

export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;
