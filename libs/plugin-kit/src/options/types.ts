import type { ComponentKind } from '../component-kind';

/** A class of options: class-validator decorators say what fits, initializers are the defaults, `@Doc` is the help. */
export type OptionsClass<T extends object = object> = new () => T;

/** An option as plain JavaScript describes it; `fromDescription` makes a class of such a description. */
export interface OptionDescription {
  /** `file`, `folder`: the path of one, see `LocalFile`. */
  type: 'number' | 'integer' | 'boolean' | 'text' | 'file' | 'folder' | 'list' | 'object';
  description: string;
  /** Value where the user gives none; left out: the option is absent then, unless it is required. */
  default?: unknown;
  required?: boolean;
  /** Bounds of numbers (of a number, or of each element of a list of them). */
  atLeast?: number;
  above?: number;
  atMost?: number;
  below?: number;
  /** The only values (of a text, or of each element of a list). */
  choices?: readonly string[];
  /** What the elements of a list are; texts unless said. */
  of?: 'number' | 'integer' | 'boolean' | 'text' | 'file' | 'folder' | 'object';
  /** Other names, see `Doc`. */
  aliases?: readonly string[];
  /** Such as a password: it is shown nowhere. */
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
  /**
   * Of a list: options of its components may stand beside it, too, and one that no entry has adds the component that has it
   * (`wandb_project: mine`).
   */
  beside?: boolean;
  /** Options of the component have flags by their path alone, since those by their name mean another choice of this kind. */
  flagsByPath?: boolean;
  /** A key beside the choice whose value, an object, holds options of the component, too. */
  optionsKey?: string;
}

/** A file or folder of whoever starts the run, or a list of such. */
export interface FileNote {
  kind: 'file' | 'folder';
  /** A list of them instead of one. */
  many: boolean;
  /** The address of a checkpoint fits, too; what is read then is its folder. */
  checkpoints: boolean;
}

/** Another option of the same class, and the value it must have; without one it must be given. */
export interface NeedsNote {
  option: string;
  value?: unknown;
}

/** What is known of one option, read off its class. */
export interface OptionInfo {
  name: string;
  /** Other names, see `Doc`. */
  aliases: readonly string[];
  /** What it does. */
  doc: string;
  type: OptionType;
  /** What fits, in words: `a whole number of at least 1`. */
  expected: string;
  /** Value where the user gives none; undefined: it is absent then. */
  default?: unknown;
  /** The user must give it. */
  required: boolean;
  /** The only values, where there are such. */
  choices?: readonly unknown[];
  /** Shown nowhere. */
  secret?: boolean;
  /** Reads the text of a flag, where the type alone does not say how. */
  fromText?: (text: string) => unknown;
  /** It has an effect only where another option has a certain value. */
  needs?: NeedsNote;
  /** The class of a group. */
  group?: OptionsClass;
  /** What a choice chooses from. */
  choice?: ChoiceNote;
  /** What files it names. */
  file?: FileNote;
}
