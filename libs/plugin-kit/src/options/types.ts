import type { ComponentKind } from '../component-kind';

/**
 * A class of options: class-validator decorators define valid values, initializers are the defaults, `@Doc` is the
 * help.
 */
export type OptionsClass<T extends object = object> = new () => T;

/** An option described in plain JavaScript; `fromDescription` generates a class from such descriptions. */
export interface OptionDescription {
  /** `file`, `folder`: the path of one, see `LocalFile`. */
  type: 'number' | 'integer' | 'boolean' | 'text' | 'file' | 'folder' | 'list' | 'object';
  description: string;
  /** Default value; without one, the option is undefined unless it is required. */
  default?: unknown;
  required?: boolean;
  /** Bounds of numbers (of a number, or of each element of a list). */
  atLeast?: number;
  above?: number;
  atMost?: number;
  below?: number;
  /** The allowed values (of a text, or of each element of a list). */
  choices?: readonly string[];
  /** Type of a list's elements. Default: text. */
  of?: 'number' | 'integer' | 'boolean' | 'text' | 'file' | 'folder' | 'object';
  /** Such as a password: never shown. */
  secret?: boolean;
}

export type OptionsDescription = Readonly<Record<string, OptionDescription>>;

export type OptionType =
  | 'number'
  | 'integer'
  | 'boolean'
  | 'text'
  | 'file'
  | 'folder'
  | 'list'
  | 'object'
  | 'any'
  | 'group'
  | 'choice';

/** A component chosen by name. */
export interface ChoiceNote {
  kind: ComponentKind;
  /** A list of components instead of one. */
  many: boolean;
}

/** A file or folder on the machine that starts the run, or a list of these. */
export interface FileNote {
  kind: 'file' | 'folder';
  /** A list instead of one. */
  many: boolean;
  /** Also accepts the address of a checkpoint, which stands for its folder. */
  checkpoints: boolean;
}

/** Another option of the same class and its required value; without a value, it only has to be set. */
export interface NeedsNote {
  option: string;
  value?: unknown;
}

/** Description of one option, derived from its class. */
export interface OptionInfo {
  name: string;
  /** Help text. */
  doc: string;
  type: OptionType;
  /** Description of valid values: `a whole number of at least 1`. */
  expected: string;
  /** Default value; undefined: the option has none. */
  default?: unknown;
  /** Whether it must be given. */
  required: boolean;
  /** The allowed values, if they are limited. */
  choices?: readonly unknown[];
  /** Never shown. */
  secret?: boolean;
  /** Parses the text of a flag, if the type alone does not determine it. */
  fromText?: (text: string) => unknown;
  /** It has an effect only if another option has a certain value. */
  needs?: NeedsNote;
  /** The class of a group. */
  group?: OptionsClass;
  /** The components that a choice selects from. */
  choice?: ChoiceNote;
  /** The files that it names. */
  file?: FileNote;
}
