import { ValidateBy, type ValidationOptions } from 'class-validator';
import type { ComponentKind } from '../component-kind';
import { expectedFile, fitsFile } from './file-values';
import type { ChoiceNote, FileNote, NeedsNote, OptionsClass } from './types';

export interface DocExtras {
  /**
   * Other names: a bare word is a flag (`--seed`), a dotted path is an old place in the run file (`model.device`) and a flag, too.
   */
  aliases?: readonly string[];
  /** Such as a password: it is shown nowhere. */
  secret?: boolean;
}

/** What is known of a property besides its validators. */
export interface PropertyNote {
  doc?: string;
  aliases?: readonly string[];
  secret?: boolean;
  /** A nested class of options. */
  group?: () => OptionsClass;
  /** A component chosen by name. */
  choice?: ChoiceNote;
  /** Files that it names. */
  file?: FileNote;
  /** What the option needs to have an effect: see `Needs`. */
  needs?: NeedsNote;
  /** What fits, in words, and how the text of a flag is read: see `Fits`. */
  fits?: { expected: string; fromText?: (text: string) => unknown };
}

/** Shared by all copies of this package, so that classes of a plugin with a copy of its own are understood. */
const NOTES = Symbol.for('ui-rl:options');

type Notes = Map<string, PropertyNote>;

/** Notes of a class, those of its ancestors first. */
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

/** The help of an option: what it does, with its unit. */
export function Doc(text: string, { aliases = [], secret = false }: DocExtras = {}): PropertyDecorator {
  return (prototype, property) => note(prototype, String(property), { doc: text, aliases, secret });
}

/** A group of options: an instance of another class of options. */
export function Group(type: () => OptionsClass): PropertyDecorator {
  return (prototype, property) => note(prototype, String(property), { group: type });
}

/**
 * A component chosen by name: `loss: ppo`, or `loss: {name: ppo, clip_high: 0.28}`. Its options are checked and completed by its
 * own class; they may also be written beside the choice (`algorithm: {loss: ppo, clip_high: 0.28}`).
 */
export function Choice(
  kind: ComponentKind,
  { many = false, beside, flagsByPath, optionsKey }: Partial<Omit<ChoiceNote, 'kind'>> = {},
): PropertyDecorator {
  return (prototype, property) =>
    note(prototype, String(property), {
      choice: {
        kind,
        many,
        ...(beside === undefined ? {} : { beside }),
        ...(flagsByPath === undefined ? {} : { flagsByPath }),
        ...(optionsKey === undefined ? {} : { optionsKey }),
      },
    });
}

/**
 * The path of a file or folder on the machine of whoever starts the run; relative ones count from the run file, or, given by a flag,
 * from the working directory. It is uploaded when the run is announced, so that the component gets the path of a copy wherever it
 * is made.
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
 * A check in words, for what no validator says: `@Fits('an odd number', (value) => …)`. `expected` is what messages and help
 * show; `fromText` reads the text of a flag.
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
      fits: { expected, ...(fromText === undefined ? {} : { fromText }) },
    });
  };
}

/**
 * The option does something only where another one of its class has a certain value, or is given at all. Elsewhere it is refused,
 * unless it is written with its default.
 */
export function Needs(option: string, value?: unknown): PropertyDecorator {
  const needs = value === undefined ? { option } : { option, value };
  return (prototype, property) => note(prototype, String(property), { needs });
}

/** A number above a bound. */
export function Above(bound: number, options?: ValidationOptions): PropertyDecorator {
  return bounded('above', bound, (value) => value > bound, options);
}

/** A number below a bound. */
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
