import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '@ui-rl/bus';
import { StoredEpisode, type Trajectory } from '@ui-rl/contracts';
import { linesOf } from '@ui-rl/episode';

/** An estimator's state between batches: saved with each step, so that a resumed run continues with it. */
export interface Carried {
  /** Its own JSON state; undefined before the first batch, and if it has none. */
  memory?: unknown;
  /** Episodes to present again. */
  kept: readonly Trajectory[];
}

export const NOTHING_CARRIED: Carried = { kept: [] };

const MEMORY_FILE = 'estimator.json';
const KEPT_FILE = 'kept-episodes.jsonl';

/** Files of a checkpoint by name; empty without state. */
export function filesOfCarried({ memory, kept }: Carried): Record<string, string> {
  return {
    ...(memory === undefined ? {} : { [MEMORY_FILE]: `${JSON.stringify(memory)}\n` }),
    ...(kept.length === 0
      ? {}
      : { [KEPT_FILE]: kept.map((trajectory) => `${JSON.stringify({ trajectory })}\n`).join('') }),
  };
}

/** Reads the state in a checkpoint folder. Throws if its files are invalid. */
export async function readCarried(dir: string): Promise<Carried> {
  const memory = await ifThere(readFile(join(dir, MEMORY_FILE), 'utf8'));
  return {
    ...(memory === undefined ? {} : { memory: JSON.parse(memory) as unknown }),
    kept: (await ifThere(keptIn(join(dir, KEPT_FILE)))) ?? [],
  };
}

async function keptIn(path: string): Promise<Trajectory[]> {
  const kept: Trajectory[] = [];
  for await (const { number, content } of linesOf(path)) {
    const read = readJson(content, StoredEpisode);
    if (!read.ok) throw new Error(`${path}, line ${number}: ${read.reason}`);
    kept.push(read.value.trajectory);
  }
  return kept;
}

async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
