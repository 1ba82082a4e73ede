import { inheritedKey, Task } from '@ui-rl/contracts';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { PluginError } from './errors';
import { didYouMean } from './nearest';
import { isRecord, show } from './show';

const FIELDS: readonly (keyof Task)[] = [
  'id',
  'description',
  'goalFrom',
  'source',
  'category',
  'difficulty',
  'maxSteps',
  'environment',
  'checks',
];

/** Checks a task that somebody wrote. Throws a `PluginError` `option` with everything that is wrong, and where it was read. */
export function readTask(plain: unknown, where: string): Task {
  if (!isRecord(plain)) throw wrong(where, [`expected a task, found ${show(plain)}`]);
  const inherited = inheritedKey(plain);
  if (inherited !== undefined) throw wrong(where, [`"${inherited}" cannot be a key of a task`]);
  const task = plainToInstance(Task, structuredClone(plain));
  const problems = validateSync(task, { whitelist: true, forbidNonWhitelisted: true }).flatMap((error) =>
    problemsOf(error),
  );
  if (problems.length > 0) throw wrong(where, problems);
  return structuredClone(plain) as unknown as Task;
}

function problemsOf({ property, constraints = {}, children = [] }: ValidationError, path = ''): string[] {
  const full = path === '' ? property : `${path}.${property}`;
  const own = Object.entries(constraints).map(([check, message]) =>
    check === 'whitelistValidation'
      ? `unknown field "${full}".${path === '' ? didYouMean(property, FIELDS) || ` Known: ${FIELDS.join(', ')}` : ''}`
      : message.replace(property, full),
  );
  return [...own, ...children.flatMap((child) => problemsOf(child, full))];
}

function wrong(where: string, problems: readonly string[]): PluginError {
  return new PluginError('option', `tasks: ${where}: ${problems.join('; ')}`);
}
