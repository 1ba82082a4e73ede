/** A class of options: class-validator decorators say what fits, initializers are the defaults, `@Doc` is the help. */
export type OptionsClass<T extends object = object> = new () => T;

/** An option as plain JavaScript describes it; `fromDescription` makes a class of such a description. */
export interface OptionDescription {
  type: 'number' | 'integer' | 'boolean' | 'text' | 'list' | 'object';
  description: string;
  /** Value where the user gives none; left out: the option is absent then, unless it is required. */
  default?: unknown;
  required?: boolean;
  /** Bounds of numbers. */
  atLeast?: number;
  above?: number;
  atMost?: number;
  below?: number;
  /** The only values (of a text, or of each element of a list). */
  choices?: readonly string[];
  /** Other names, see `Doc`. */
  aliases?: readonly string[];
}

export type OptionsDescription = Readonly<Record<string, OptionDescription>>;
