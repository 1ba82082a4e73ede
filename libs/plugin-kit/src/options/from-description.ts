import {
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Max,
  Min,
  type ValidationOptions,
} from 'class-validator';
import { PluginError } from '../errors';
import { didYouMean } from '../nearest';
import { isRecord, show } from '../show';
import { Above, Below, Doc, LocalFile } from './decorators';
import type { OptionDescription, OptionsClass, OptionsDescription } from './types';

const TYPES = ['number', 'integer', 'boolean', 'text', 'file', 'folder', 'list', 'object'];
const ELEMENTS = TYPES.filter((type) => type !== 'list');
const KEYS: Readonly<Record<keyof OptionDescription, string>> = {
  type: `one of ${TYPES.join(', ')}`,
  description: 'a text',
  default: 'a value',
  required: 'true or false',
  atLeast: 'a number',
  above: 'a number',
  atMost: 'a number',
  below: 'a number',
  choices: 'a list of texts',
  of: `one of ${ELEMENTS.join(', ')}`,
  secret: 'true or false',
};

/**
 * Generates a class of options from a plain description. Throws a `PluginError` `invalid` that names the option and
 * the fault in its description.
 */
export function fromDescription(description: OptionsDescription): OptionsClass {
  for (const [name, option] of Object.entries(description)) checkDescription(name, option);
  const defaults = Object.entries(description).filter(([, option]) => option.default !== undefined);
  class Options {
    constructor() {
      for (const [name, option] of defaults) Object.assign(this, { [name]: structuredClone(option.default) });
    }
  }
  for (const [name, option] of Object.entries(description)) decorate(Options.prototype, name, option);
  return Options;
}

function decorate(prototype: object, name: string, option: OptionDescription): void {
  const { type, of = 'text', default: fallback, required = false } = option;
  const apply = (decorators: PropertyDecorator[]) => {
    for (const decorator of decorators) decorator(prototype, name);
  };
  apply([Doc(option.description, { secret: option.secret ?? false })]);
  if (fallback === undefined && !required) apply([IsOptional()]);
  if (type === 'file' || type === 'folder') return apply([LocalFile({ kind: type })]);
  if (type !== 'list') return apply(checksOf(type, option, {}));
  // Applied from last to first, like decorators.
  const elements =
    of === 'file' || of === 'folder'
      ? [LocalFile({ kind: of, many: true })]
      : checksOf(of, option, { each: true });
  apply([...elements, ...(required ? [ArrayNotEmpty()] : []), IsArray()]);
}

function checksOf(
  type: OptionDescription['type'],
  { atLeast, above, atMost, below, choices }: OptionDescription,
  each: ValidationOptions,
): PropertyDecorator[] {
  if (choices !== undefined) return [IsIn([...choices], each)];
  if (type === 'boolean') return [IsBoolean(each)];
  if (type === 'object') return [IsObject(each)];
  if (type === 'text') return [IsNotEmpty(each), IsString(each)];
  return [
    ...(atLeast === undefined ? [] : [Min(atLeast, each)]),
    ...(above === undefined ? [] : [Above(above, each)]),
    ...(atMost === undefined ? [] : [Max(atMost, each)]),
    ...(below === undefined ? [] : [Below(below, each)]),
    type === 'integer' ? IsInt(each) : IsNumber({}, each),
  ];
}

function checkDescription(name: string, option: unknown): void {
  const refuse = (problem: string): never => {
    throw new PluginError('invalid', `describes its option "${name}" wrongly: ${problem}`);
  };
  if (!isRecord(option)) return refuse(`found ${show(option)}, expected {type, description, default, …}`);
  for (const [key, value] of Object.entries(option)) {
    if (!Object.hasOwn(KEYS, key)) refuse(`unknown key "${key}".${didYouMean(key, Object.keys(KEYS))}`);
    if (value !== undefined && !fits(key as keyof OptionDescription, value)) {
      refuse(`"${key}" is ${show(value)}, expected ${KEYS[key as keyof OptionDescription]}`);
    }
  }
  const { type, description } = option as Partial<OptionDescription>;
  if (type === undefined) refuse(`it has no "type", expected ${KEYS.type}`);
  if (description === undefined) refuse('it has no "description"');
  checkTogether(option as unknown as OptionDescription, refuse);
}

function checkTogether(option: OptionDescription, refuse: (problem: string) => never): void {
  const { type, of: element } = option;
  const value = type === 'list' ? (element ?? 'text') : type;
  const bounds = (['atLeast', 'above', 'atMost', 'below'] as const).filter(
    (key) => option[key] !== undefined,
  );
  if (bounds.length > 0 && value !== 'number' && value !== 'integer') refuse(`"${bounds[0]}" is for numbers`);
  if (option.choices !== undefined && value !== 'text') refuse('"choices" are for texts');
  if (element !== undefined && type !== 'list') refuse('"of" is for lists');
  if (option.required === true && option.default !== undefined) refuse('what is required has no "default"');
}

function fits(key: keyof OptionDescription, value: unknown): boolean {
  switch (key) {
    case 'type':
      return TYPES.includes(value as string);
    case 'of':
      return ELEMENTS.includes(value as string);
    case 'description':
      return typeof value === 'string' && value !== '';
    case 'required':
    case 'secret':
      return typeof value === 'boolean';
    case 'choices':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
    case 'default':
      return true;
    default:
      return typeof value === 'number';
  }
}
