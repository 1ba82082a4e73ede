import { ValidateBy, type ValidationOptions } from 'class-validator';
import type { ComponentKind } from '../component-kind';
import { expectedFile, fitsFile } from './file-values';
import type { ChoiceNote, FileNote, NeedsNote, OptionsClass } from './types';

export interface DocExtras {
  /** Such as a password: never shown. */
  secret?: boolean;
}

/** Metadata of a property besides its validators. */
export interface PropertyNote {
  doc?: string;
  secret?: boolean;
  /** A nested class of options. */
  group?: () => OptionsClass;
  /** A component chosen by name. */
  choice?: ChoiceNote;
  /** Files that it names. */
  file?: FileNote;
  /** Precondition of the option: see `Needs`. */
  needs?: NeedsNote;
  /** Description of valid values, and the parser of a flag's text: see `Fits`. */
  fits?: { expected: string; fromText?: (text: string) => unknown };
}

/** Shared by all copies of this package, so that classes of a plugin with its own copy are recognized. */
const NOTES = Symbol.for('ui-rl:options');

type Notes = Map<string, PropertyNote>;

/** Metadata of a class, including that of its ancestors first. */
export function notesOf(type: object): Notes {
  const parent = Object.getPrototypeOf(type) as object | null;
  const inherited: Notes = parent === null ? new Map() : notesOf(parent);
  const own = Object.hasOwn(type, NOTES) ? (type as { [NOTES]: Notes })[NOTES] : new Map();
  return new Map([...inherited, ...own]);
}

function note(prototype: object, property: string, add: PropertyNote): void {
  const type = prototype.constructor as unknown as { [NOTES]?: Notes };
  if (!Object.hasOwn(type, NOTES)) type[NOTES] = new Map();
  const notes = type[NOTES]!;
  notes.set(property, { ...notes.get(property), ...add });
}

/** The help of an option: its meaning and unit. */
export function Doc(text: string, { secret = false }: DocExtras = {}): PropertyDecorator {
  return (prototype, property) => note(prototype, String(property), { doc: text, secret });
}

/** A group of options: an instance of another class of options. */
export function Group(type: () => OptionsClass): PropertyDecorator {
  return (prototype, property) => note(prototype, String(property), { group: type });
}

/**
 * A component chosen by name: `loss: ppo`, or `loss: {name: ppo, clip_high: 0.28}`. Its own class validates and
 * completes its options. @param many a list of components
 */
export function Choice(
  kind: ComponentKind,
  { many = false }: Partial<Pick<ChoiceNote, 'many'>> = {},
): PropertyDecorator {
  return (prototype, property) => note(prototype, String(property), { choice: { kind, many } });
}

/**
 * The path of a file or folder on the machine that starts the run. Relative paths start from the run file, or from
 * the working directory if given by a flag. The file is uploaded when the run is announced, and the component
 * receives the path of a local copy.
 */
export function LocalFile({
  kind = 'file',
  many = false,
  checkpoints = false,
}: Partial<FileNote> = {}): PropertyDecorator {
  const file: FileNote = { kind, many, checkpoints };
  const validate = ValidateBy({
    name: 'localFile',
    validator: {
      validate: (value: unknown) => fitsFile(value, file),
      defaultMessage: () => `$property must be ${expectedFile(file)}`,
    },
  });
  return (prototype, property) => {
    validate(prototype, property);
    note(prototype, String(property), { file });
  };
}

/**
 * A custom check with a description: `@Fits('an odd number', (value) => …)`. Messages and help show `expected`;
 * `fromText` parses the text of a flag.
 */
export function Fits(
  expected: string,
  fits: (value: unknown) => boolean,
  fromText?: (text: string) => unknown,
): PropertyDecorator {
  const validate = ValidateBy({
    name: 'fits',
    validator: { validate: fits, defaultMessage: () => `$property must be ${expected}` },
  });
  return (prototype, property) => {
    validate(prototype, property);
    note(prototype, String(property), {
      fits: { expected, fromText },
    });
  };
}

/**
 * The option has an effect only if another option of its class has a certain value, or is set at all. Otherwise it is
 * rejected, unless it equals its default.
 */
export function Needs(option: string, value?: unknown): PropertyDecorator {
  const needs = value === undefined ? { option } : { option, value };
  return (prototype, property) => note(prototype, String(property), { needs });
}

/** A number greater than a bound. */
export function Above(bound: number, options?: ValidationOptions): PropertyDecorator {
  return bounded('above', bound, (value) => value > bound, options);
}

/** A number less than a bound. */
export function Below(bound: number, options?: ValidationOptions): PropertyDecorator {
  return bounded('below', bound, (value) => value < bound, options);
}

function bounded(
  name: string,
  bound: number,
  fits: (value: number) => boolean,
  options?: ValidationOptions,
): PropertyDecorator {
  return ValidateBy(
    {
      name,
      constraints: [bound],
      validator: {
        validate: (value: unknown) => typeof value === 'number' && Number.isFinite(value) && fits(value),
        defaultMessage: () => `$property must be ${name} ${bound}`,
      },
    },
    options,
  );
}
