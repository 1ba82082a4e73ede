import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '@ui-rl/settings';
import { parse } from 'yaml';
import { weightsOf } from '../weights-of';
import { ALGORITHMS, type Groups, MAIN_ALGORITHMS } from './algorithms';

/** File of this bench's tasks. */
export const TASKS_FILE = join(__dirname, 'tasks.js');

/** A task of the table. */
export interface TaskDefinition {
  /** The ability that it isolates. */
  ability: string;
  /** Run file shared by all algorithms. */
  runFile: Groups;
  /** Its rows. */
  algorithms: readonly string[];
  /** It uses the screens of this folder, which are then part of its definition. */
  ownScreens?: true;
}

/** Steps for collecting stored episodes. */
const COLLECTING_STEPS = 8;

const SMALL: Groups = {
  plugins: [TASKS_FILE],
  model: { name: 'small', prompt: 'compact', lora: { rank: 16, alpha: 32 }, max_sequence: 256 },
  environment: { max_sessions: 16 },
  rollout: { group_size: 8, max_tokens: 16, concurrency: 16 },
  training: {
    ...{ groups_per_batch: 8, learning_rate: 1e-3, schedule: 'linear', max_steps: 20 },
    ...{ save_every: 0, eval_every: 0 },
  },
  logging: { num_groups_to_log: 0, trackers: [], upload_checkpoints: 'none' },
};

/** Without algorithm and rewards: rows differ in the algorithm, and all learn from success alone. */
function quickstart(): Groups {
  const text = readFileSync(join(projectRoot, 'deploy/config/quickstart.yaml'), 'utf8');
  const { algorithm: _, rewards: __, ...groups } = parse(text) as Record<string, object>;
  return groups;
}

export const TASKS: Readonly<Record<string, TaskDefinition>> = {
  named: {
    ability: 'credit within one answer: tap the named one of six tiles',
    ownScreens: true,
    algorithms: Object.keys(ALGORITHMS),
    runFile: merged(SMALL, {
      tasks: { source_type: 'named' },
      evaluation: { episodes_per_task: 16, temperature: 1, sets: ['train_goals'] },
    }),
  },
  steps: {
    ability: 'credit over turns: two steps, then save; what is earned is earned at the end',
    ownScreens: true,
    algorithms: Object.keys(ALGORITHMS),
    runFile: merged(SMALL, {
      tasks: { source_type: 'steps' },
      training: { groups_per_batch: 4, max_steps: 24 },
      evaluation: { episodes_per_task: 96, temperature: 1, sets: ['train_goals'] },
    }),
  },
  phone: {
    ability: "the quickstart's 52 goals",
    algorithms: MAIN_ALGORITHMS,
    runFile: quickstart(),
  },
};

/** The training configuration of one row. */
export interface RowDefinition {
  task: string;
  algorithm: string;
  seed: number;
  /** Run file of the training. */
  runFile: Groups;
  /** Run file for collecting stored episodes, if the row learns from them. */
  collecting?: Groups;
  /** Digest of everything that determines the result, the model included, except the seed and the code. */
  digest: string;
}

/** @throws Error if there is no such row */
export function defineRow(task: string, algorithm: string, seed: number): RowDefinition {
  const { runFile: base, ownScreens, algorithms } = known(TASKS, task, 'task');
  const { changes, offline } = known(ALGORITHMS, algorithm, 'algorithm');
  if (!algorithms.includes(algorithm)) throw new Error(`${task} has no row ${algorithm}`);
  // All rows of a seed start with the same policy, so its baseline is measured once.
  const runFile = merged(base, changes, { evaluation: { baseline: algorithm === algorithms[0] } });
  const parts = offline
    ? { runFile: merged(runFile, LEARN_FROM_STORED), collecting: merged(base, COLLECT) }
    : { runFile };
  const digest = digestOf(parts, ownScreens);
  const seeded = Object.entries(parts).map(([name, groups]) => [
    name,
    merged(groups, { training: { seed } }),
  ]);
  return { task, algorithm, seed, digest, ...(Object.fromEntries(seeded) as typeof parts) };
}

const LEARN_FROM_STORED: Groups = { training: { warm_start: { only: true } } };
/** A learning rate that does not change the policy. */
const COLLECT: Groups = {
  training: { max_steps: COLLECTING_STEPS, learning_rate: 1e-12 },
  evaluation: { baseline: false, episodes_per_task: 1 },
};

function known<T>(all: Readonly<Record<string, T>>, name: string, what: string): T {
  if (!Object.hasOwn(all, name)) {
    throw new Error(`there is no ${what} "${name}"; there are ${Object.keys(all).join(', ')}`);
  }
  return all[name];
}

/** Later ones override earlier ones; objects are merged, lists are replaced. */
export function merged(...all: readonly Groups[]): Groups {
  return all.reduce((into, from) => {
    const changed = Object.entries(from).map(([name, value]) => {
      const before = into[name];
      return [name, isObject(before) && isObject(value) ? merged(before, value) : value];
    });
    return { ...into, ...(Object.fromEntries(changed) as Groups) };
  }, {});
}

function isObject(value: unknown): value is Groups {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

let shippedWeights: string | undefined;

function digestOf(parts: object, ownScreens?: true): string {
  shippedWeights ??= weightsOf('small');
  const hash = createHash('sha256').update(shippedWeights);
  hash.update(JSON.stringify(parts).replaceAll(__dirname, '.'));
  if (ownScreens) {
    const folder = join(__dirname, 'screens');
    const files = readdirSync(folder)
      .toSorted()
      .map((name) => join(folder, name));
    for (const file of [TASKS_FILE, ...files]) hash.update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 12);
}
