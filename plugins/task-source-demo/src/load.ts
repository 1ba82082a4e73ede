import {
  PluginError,
  TASK_CATEGORIES,
  TASK_DIFFICULTIES,
  type Task,
  type TaskSourceConfig,
} from '@ui-rl/plugin-kit';
import { evaluationTasks, resolve, trainingTasks } from './catalogue';

type Options = Record<string, unknown>;

const FILTERS = ['category', 'difficulty', 'limit', 'seed'];

interface Source {
  /** Options besides `source_type`. */
  options: readonly string[];
  load(options: Options): Task[];
}

const SOURCES: Readonly<Record<string, Source>> = {
  demo_training: { options: FILTERS, load: (options) => filtered(trainingTasks, options) },
  demo_eval: { options: FILTERS, load: (options) => filtered(evaluationTasks, options) },
  ids: { options: ['task_ids', ...FILTERS], load: (options) => filtered(byIds(options), options) },
  custom: { options: ['custom_tasks', ...FILTERS], load: (options) => filtered(custom(options), options) },
};

export const SOURCE_TYPES = Object.keys(SOURCES);

/** The tasks a source configuration names. Throws `PluginError` that names the option that is wrong. */
export function load({ source_type: type, ...options }: TaskSourceConfig): Task[] {
  const source = SOURCES[type];
  if (source === undefined) throw wrong('source_type', type, SOURCE_TYPES.join(', '));
  for (const option of Object.keys(options)) {
    if (!source.options.includes(option)) {
      throw new PluginError(
        'option',
        `tasks: unknown option "${option}" of source_type "${type}" (known: ${source.options.join(', ')})`,
      );
    }
  }
  return source.load(options);
}

function filtered(tasks: readonly Task[], options: Options): Task[] {
  const category = choice(options, 'category', TASK_CATEGORIES);
  const difficulty = choice(options, 'difficulty', TASK_DIFFICULTIES);
  const limit = integer(options, 'limit', 1);
  const seed = integer(options, 'seed', 0);
  const kept = tasks.filter(
    (task) =>
      (category === undefined || task.category === category) &&
      (difficulty === undefined || task.difficulty === difficulty),
  );
  if (kept.length === 0) {
    throw new PluginError('option', `tasks: no task is left by ${JSON.stringify({ category, difficulty })}`);
  }
  return (seed === undefined ? kept : shuffled(kept, seed)).slice(0, limit);
}

function byIds(options: Options): Task[] {
  const all = [...trainingTasks, ...evaluationTasks];
  return sentences(options, 'task_ids').map((id) => {
    const task = all.find((candidate) => candidate.id === id);
    if (task === undefined)
      throw wrong('task_ids', id, `ids such as ${all[0].id} (\`ui-rl tasks\` lists them)`);
    return task;
  });
}

function custom(options: Options): Task[] {
  return sentences(options, 'custom_tasks').map((sentence) => {
    const task = resolve(sentence);
    if (task !== null) return task;
    throw wrong('custom_tasks', sentence, 'goals such as "Turn on Bluetooth" or "Send hello to Anna"');
  });
}

function sentences(options: Options, name: string): string[] {
  const list = options[name];
  const valid = Array.isArray(list) && list.length > 0 && list.every((item) => typeof item === 'string');
  if (!valid) throw wrong(name, list, 'a list of texts');
  return list;
}

function choice<T extends string>(options: Options, name: string, known: readonly T[]): T | undefined {
  const value = options[name] as T | undefined;
  if (value !== undefined && !known.includes(value)) throw wrong(name, value, `one of ${known.join(', ')}`);
  return value;
}

function integer(options: Options, name: string, least: number): number | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && (value as number) >= least) return value as number;
  throw wrong(name, value, `a whole number of at least ${least}`);
}

function wrong(option: string, found: unknown, expected: string): PluginError {
  return new PluginError('option', `tasks: ${option} is ${JSON.stringify(found)}, expected ${expected}`);
}

/** Fisher-Yates with mulberry32, so that a seed gives the same choice everywhere. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const list = [...items];
  let state = seed >>> 0;
  for (let i = list.length - 1; i > 0; i--) {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    const j = Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}
