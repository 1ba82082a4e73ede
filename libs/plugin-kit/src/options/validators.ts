import { getMetadataStorage } from 'class-validator';
import type { OptionsClass, OptionType } from './types';

/** class-validator's metadata of one decorator. All copies of the package in a process share its storage. */
type Validator = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number] & {
  name?: string;
};

/** Property → its validators, in source order. */
export function validatorsOf(type: OptionsClass): Map<string, Validator[]> {
  const all = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false) as Validator[];
  const byProperty = new Map<string, Validator[]>();
  // Decorators of a property are applied, and therefore stored, from last to first.
  for (const each of all.toReversed()) {
    byProperty.set(each.propertyName, [...(byProperty.get(each.propertyName) ?? []), each]);
  }
  return byProperty;
}

/** Whether a property may be absent: `@IsOptional()`, or a `@ValidateIf` that does not hold then. */
export function isOptional(validators: readonly Validator[], absent: object): boolean {
  return validators.filter(isCondition).some(({ constraints }) => {
    const holds = (constraints as ((object: object, value?: unknown) => boolean)[])[0];
    return !holds(absent, undefined);
  });
}

/** Names of class-validator decorators in its metadata → the type that they imply. */
const NOUNS: Readonly<Record<string, { type: OptionType; noun: string }>> = {
  isInt: { type: 'integer', noun: 'a whole number' },
  isNumber: { type: 'number', noun: 'a number' },
  isBoolean: { type: 'boolean', noun: 'true or false' },
  isString: { type: 'text', noun: 'a text' },
  isArray: { type: 'list', noun: 'a list' },
  isObject: { type: 'object', noun: 'an object' },
};
const BOUNDS: Readonly<Record<string, string>> = {
  min: 'of at least',
  above: 'above',
  max: 'at most',
  below: 'below',
};
const FILLED = ['isNotEmpty', 'arrayNotEmpty'];

/** The type of a property and a description of its valid values, from its validators. */
export function shapeOf(validators: readonly Validator[]): { type: OptionType; expected: string } {
  const checks = validators.filter((each) => !isCondition(each));
  const own = checks.filter(({ each }) => !each);
  const elements = checks.filter(({ each }) => each);
  const { type, expected } = phraseOf(own);
  if (elements.length === 0) return { type, expected };
  const list = own.length === 0 ? 'a list' : expected;
  return { type: 'list', expected: `${list}, each entry ${phraseOf(elements).expected}` };
}

function phraseOf(checks: readonly Validator[]): { type: OptionType; expected: string } {
  const allowed = choicesOf(checks);
  if (allowed !== undefined) return { type: typeOfValues(allowed), expected: choicePhrase(allowed) };
  const { type, noun } = nounOf(checks);
  const filled = checks.some((check) => isOne(check, FILLED)) ? ' that is not empty' : '';
  const said = [...Object.keys(NOUNS), ...Object.keys(BOUNDS), ...FILLED];
  const demands = checks.filter((check) => !isOne(check, said)).map(demandOf);
  const phrases = [`${noun}${boundsPhrase(checks)}${filled}`, ...demands];
  return { type, expected: phrases.filter((phrase) => phrase !== '').join(', which ') || 'any value' };
}

function nounOf(checks: readonly Validator[]): { type: OptionType; noun: string } {
  const named = checks.find((check) => isOne(check, Object.keys(NOUNS)));
  if (named !== undefined) return NOUNS[named.name!];
  const bounded = checks.some((check) => isOne(check, Object.keys(BOUNDS)));
  return bounded ? NOUNS.isNumber : { type: 'any', noun: '' };
}

function isOne({ name }: Validator, names: readonly string[]): boolean {
  return name !== undefined && names.includes(name);
}

/** ` of at least 0 and below 1`. */
function boundsPhrase(checks: readonly Validator[]): string {
  const bounds = Object.entries(BOUNDS).flatMap(([name, words]) => {
    const check = checks.find((each) => each.name === name);
    return check === undefined ? [] : [`${words} ${String(check.constraints[0])}`];
  });
  const of = bounds[0]?.startsWith('at most') === true ? 'of ' : '';
  return bounds.length === 0 ? '' : ` ${of}${bounds.join(' and ')}`;
}

/** The allowed values of a property, or of each element of a list; undefined if they are not limited. */
export function choicesOf(validators: readonly Validator[]): readonly unknown[] | undefined {
  const check = validators.find(({ name }) => name === 'isIn');
  return check === undefined ? undefined : (check.constraints as [readonly unknown[]])[0];
}

function choicePhrase(values: readonly unknown[]): string {
  return values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map(String).join(', ')}`;
}

function typeOfValues(values: readonly unknown[]): OptionType {
  return values.every((value) => typeof value === 'number') ? 'number' : 'text';
}

/** The message of any other validator: `must be an email`. */
function demandOf(check: Validator): string {
  const [constraint] = getMetadataStorage().getTargetValidatorConstraints(check.constraintCls);
  const constraints = (check.constraints as unknown[] | undefined) ?? [];
  const args = { value: undefined, constraints, targetName: '', property: '', object: {} };
  const own = typeof check.message === 'function' ? check.message(args) : check.message;
  const message = own ?? constraint?.instance.defaultMessage?.(args) ?? `passes ${check.name ?? 'a check'}`;
  return message
    .replaceAll(/\$constraint(\d+)/g, (_, index: string) => String(constraints[Number(index) - 1]))
    .replaceAll('$property', '')
    .replace(/^each value in\s*/, '')
    .trim();
}

function isCondition({ type }: Validator): boolean {
  return type === 'conditionalValidation';
}
