import type { ComponentChoice, TaskSourceChoice } from '@ui-rl/plugin-kit';
import type { RunFile } from './run-file';

/** A component by its name alone, or with its options. */
type Written<Choice> = string | Choice;

/** Further names, which are refused when the run file is read: options of a chosen component may stand beside it. */
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

/** Groups that stand for their most important option where a text is written. */
type Named = 'model' | 'algorithm';

/**
 * A run file as an object, as its YAML would say it: what is left out has its default. Names that nobody knows are refused when it
 * is read.
 */
export type RunFileOptions = Given<Omit<RunFile, Named>> & {
  readonly [Name in Named]?: string | Given<RunFile[Name]>;
};
