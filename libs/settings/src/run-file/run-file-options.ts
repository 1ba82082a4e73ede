import type { ComponentChoice, TaskSourceChoice } from '@ui-rl/plugin-kit';
import type { RunFile } from './run-file';

/** A component by name only, or with its options. */
type Written<Choice> = string | Choice;

type Given<T> = T extends ComponentChoice | TaskSourceChoice
  ? Written<T>
  : T extends readonly (infer Each)[]
    ? Each extends ComponentChoice | TaskSourceChoice
      ? Written<Each> | readonly Written<Each>[]
      : readonly Each[]
    : T extends object
      ? { readonly [Name in keyof T]?: Given<T[Name]> }
      : T;

/** A run file as an object, with the structure of its YAML form; missing options have their defaults. */
export type RunFileOptions = Given<RunFile>;
