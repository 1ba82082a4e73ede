import {
  CHECK_OPERATORS,
  fitsOperator,
  inheritedKey,
  MAX_FIELDS,
  misplacedList,
  Task,
  TASK_CATEGORIES,
  TASK_DIFFICULTIES,
  toInstance,
  type StateCheck,
} from '@ui-rl/contracts';
import { validateSync, type ValidationError } from 'class-validator';
import { PluginError } from '../errors';
import { didYouMean } from '../nearest';
import { shapeOf, validatorsOf } from '../options/validators';
import { isRecord, show } from '../show';

/** Alternative field names in tasks, from run files and from UI-RL → the canonical names. */
const ALIASES: Readonly<Record<string, keyof Task>> = {
  max_steps: 'maxSteps',
  goal_from: 'goalFrom',
  verifier: 'checks',
  task_prompt: 'description',
  max_steps_per_episode: 'maxSteps',
};

/**
 * Validates a user's task. Throws a `PluginError` `option` with all faults: where the task was read, and for each
 * field what was found and what was expected.
 */
export function readTask(written: unknown, where: string): Task {
  if (!isRecord(written)) throw wrong(where, [`expected a task, found ${show(written)}`]);
  const inherited = inheritedKey(written);
  if (inherited !== undefined) throw wrong(where, [`"${inherited}" cannot be a key of a task`]);
  const plain = withFieldNames(written, where);
  if (plain.description !== undefined && isPlainTask(plain)) return plain as unknown as Task;
  const count = Object.keys(plain).length;
  if (count > MAX_FIELDS) throw wrong(where, [`a task has at most ${MAX_FIELDS} fields, found ${count}`]);
  const task = toInstance(Task, structuredClone(plain));
  const misplaced = misplacedList(task);
  if (misplaced !== undefined) throw wrong(where, [`${misplaced} must be an object, found a list`]);
  const problems = validateSync(task, { whitelist: true, forbidNonWhitelisted: true }).flatMap((error) =>
    problemsOf(error),
  );
  if (problems.length > 0) throw wrong(where, problems);
  return structuredClone(plain) as unknown as Task;
}

function withFieldNames(written: Record<string, unknown>, where: string): Record<string, unknown> {
  const names = Object.keys(written);
  if (!names.some((name) => Object.hasOwn(ALIASES, name))) return written;
  const named = Object.entries(written).map(([name, value]): [string, unknown] => {
    const field = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name;
    if (field !== name && Object.hasOwn(written, field)) {
      throw wrong(where, [`"${name}" and "${field}" are the same field: leave one of them out`]);
    }
    return [field, value];
  });
  return Object.fromEntries(named);
}

type Test = (value: unknown) => boolean;

const text =
  (longest: number): Test =>
  (value) =>
    typeof value === 'string' && value !== '' && value.length <= longest;
const texts =
  (longest: number): Test =>
  (value) =>
    Array.isArray(value) && value.length <= 100 && value.every(text(longest));
const oneOf =
  (values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value);
const count: Test = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31;
const name: Test = (value) =>
  typeof value === 'string' && value.length <= 128 && /^[a-z][a-z0-9]*$/.test(value);

const fields =
  (tests: Readonly<Record<string, Test>>): Test =>
  (value) =>
    isRecord(value) &&
    Object.entries(value).every(([key, part]) => Object.hasOwn(tests, key) && tests[key](part));
const wholly =
  (tests: Readonly<Record<string, Test>>): Test =>
  (value) =>
    fields(tests)(value) && Object.keys(tests).every((key) => (value as object)[key as never] !== undefined);

const hasStateFields = wholly({
  path: text(4000),
  operator: oneOf(CHECK_OPERATORS),
  value: (value) => value !== null,
});
const stateCheck: Test = (check) =>
  hasStateFields(check) && fitsOperator((check as StateCheck).operator, (check as StateCheck).value);

/**
 * A fast check that accepts only clearly valid tasks with the common fields. Validation by the classes takes a
 * hundred times as long, too long for a file of a million tasks; it handles everything that this check does not
 * accept.
 */
const isPlainTask = fields({
  id: text(200),
  name: text(200),
  description: text(4000),
  category: oneOf(TASK_CATEGORIES),
  difficulty: oneOf(TASK_DIFFICULTIES),
  tags: texts(100),
  prerequisites: texts(200),
  maxSteps: count,
  environment: wholly({ kind: name, options: isRecord }),
  start: isRecord,
  checks: (value) => Array.isArray(value) && value.every(stateCheck),
});

function problemsOf(error: ValidationError, parent = ''): string[] {
  const { property, constraints = {}, children = [], value } = error;
  const path = parent === '' ? property : `${parent}.${property}`;
  if ('whitelistValidation' in constraints) return [unknownField(error, path)];
  // Not an instance of a class: it stands in place of a list, or has more fields than any class.
  if (children.some((child) => child.constraints?.unknownValue !== undefined)) {
    const expected =
      'isArray' in constraints ? 'a list of objects' : `an object of at most ${MAX_FIELDS} fields`;
    return [`${path} is ${show(value)}, expected ${expected}`];
  }
  const nested = children.flatMap((child) => problemsOf(child, path));
  if (Object.keys(constraints).length === 0) return nested;
  return [`${path} is ${show(value)}, expected ${expectedOf(error)}`, ...nested];
}

/** Validators with their own messages, because the expected value depends on other fields. */
const OWN_WORDS = [
  'fitsProperty',
  'fitsOperator',
  'isAddress',
  'isAnswer',
  'isBody',
  'fitsDownload',
  'matches',
];

function expectedOf({ property, constraints = {}, target }: ValidationError): string {
  if ('nestedValidation' in constraints) return 'isArray' in constraints ? 'a list of objects' : 'an object';
  const own = Object.entries(constraints).find(([check]) => OWN_WORDS.includes(check));
  if (own !== undefined) return own[1].replace(property, '').replace(/^\s*must be /, '');
  return shapeOf(validatorsOf(target!.constructor as new () => object).get(property)!).expected;
}

function unknownField({ property, target }: ValidationError, path: string): string {
  const known = [...validatorsOf(target!.constructor as new () => object).keys()].toReversed();
  const near = didYouMean(property, known);
  return `unknown field "${path}".${near || ` Known: ${known.join(', ')}`}`;
}

function wrong(where: string, problems: readonly string[]): PluginError {
  return new PluginError('option', `tasks: ${where}: ${problems.join('; ')}`);
}
