import type { ComponentKind } from '../component-kind';
import type { OptionsClass, OptionsDescription } from '../options';

/**
 * The common members of all components. `Options` are the validated options of the run file with defaults; `Made` is
 * the object that a service works with.
 */
export interface ComponentBase<Kind extends ComponentKind, Options, Context, Made> {
  readonly kind: Kind;
  /** Name in a run file: lower-case words joined by `-` or `_`; unique within its kind. */
  readonly name: string;
  /** One sentence for `ui-rl plugins` and the reference. */
  readonly description?: string;
  /**
   * A class with class-validator decorators, whose initializers are the defaults and whose `@Doc` decorators are the
   * help; or a plain description, from which such a class is generated. Undefined: the component has no options. An
   * option that is declared as a file (`LocalFile`, `type: 'file'`) holds the path of a local copy when the component
   * is created.
   */
  readonly options?: OptionsClass<Options & object> | OptionsDescription;
  /**
   * Conflicts between these options and the rest of the run file, one sentence each; called when a run file is read.
   * Errors of `create` surface later, when a service creates the component.
   * @param path where the run file chooses the component: `engine`, or `teacher.engine`
   */
  conflicts?(options: Options, run: RunView, path?: string): readonly string[];
  create(options: Options, context: Context): Made;
}

/** A validated run file by groups, as input of `conflicts`: `run.model.use_lora`. */
export type RunView = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Time limit of an operation: until `deadlineAt`, or until `signal` aborts. */
export interface Deadline {
  /** Milliseconds since the epoch. */
  deadlineAt: number;
  signal: AbortSignal;
}

export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;
