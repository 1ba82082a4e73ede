import type { ComponentChoice, TaskSourceChoice } from '@ui-rl/plugin-kit';
import type { RunFile } from './run-file';

/** A component by name only, or with its options. */
type Written<Choice> = string | Choice;

/**
 * Further names, which are validated when the run file is read: options of a chosen component may be written beside
 * it.
 */
type Others = Readonly<Record<string, unknown>>;

type Given<T> = T extends ComponentChoice | TaskSourceChoice
  ? Written<T>
  : T extends readonly (infer Each)[]
    ? Each extends ComponentChoice | TaskSourceChoice
      ? Written<Each> | readonly Written<Each>[]
      : readonly Each[]
    : T extends object
      ? { readonly [Name in keyof T]?: Given<T[Name]> } & Others
      : T;

/** Groups for which a text sets their most important option. */
type Named = 'model' | 'algorithm';

/**
 * A run file as an object, with the structure of its YAML form; missing options have their defaults. Unknown names
 * are rejected when it is read.
 */
export type RunFileOptions = Given<Omit<RunFile, Named>> & {
  readonly [Name in Named]?: string | Given<RunFile[Name]>;
};
