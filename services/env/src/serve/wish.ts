import { randomInt } from 'node:crypto';
import { isRecord, show, type LoadedTask } from '@ui-rl/plugin-kit';
import { ServeError } from './serve-error';

/** A client's request for an episode. */
export interface Wish {
  seed: number;
  /** Undefined: selected by the seed. */
  taskId: string | undefined;
  episodeId: string | undefined;
}

const MAX_SEED = 2 ** 32 - 1;
const MAX_ID = 255;

/**
 * Parses `{seed?, task_id?, episode_id?}`. Ignores other fields, which are for other environments, like OpenEnv's own
 * server.
 *
 * @throws ServeError that names the field
 */
export function readWish(data: unknown): Wish {
  if (!isRecord(data)) throw new ServeError('bad_request', `found ${show(data)}, expected an object`);
  return {
    seed: readSeed(data.seed),
    taskId: readText(data, 'task_id'),
    episodeId: readText(data, 'episode_id'),
  };
}

function readSeed(seed: unknown): number {
  if (seed === undefined || seed === null) return randomInt(2 ** 31);
  if (Number.isInteger(seed) && (seed as number) >= 0 && (seed as number) <= MAX_SEED) return seed as number;
  throw new ServeError(
    'bad_request',
    `found ${show(seed)}, expected a whole number from 0 to ${MAX_SEED}`,
    'seed',
  );
}

function readText(data: Record<string, unknown>, field: string): string | undefined {
  const value = data[field] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value !== '' && value.length <= MAX_ID) return value;
  throw new ServeError(
    'bad_request',
    `found ${show(value)}, expected a text of at most ${MAX_ID} characters`,
    field,
  );
}

/** The named task, or the one that the seed selects: the same seed gives the same task. */
export function taskFor(tasks: readonly LoadedTask[], { seed, taskId }: Wish): LoadedTask {
  if (taskId === undefined) return tasks[seed % tasks.length];
  const found = tasks.find(({ id }) => id === taskId);
  if (found !== undefined) return found;
  const some = tasks
    .slice(0, 10)
    .map(({ id }) => id)
    .join(', ');
  throw new ServeError(
    'bad_request',
    `no task is named "${taskId.slice(0, 100)}"; there are ${some} …`,
    'task_id',
  );
}
