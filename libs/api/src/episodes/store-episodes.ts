import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { boundedFetch } from '@ui-rl/http';
import type { StoredEpisode, Trajectory } from '@ui-rl/contracts';

/** A page of episodes with all their tokens. Trusted, because the caller names the monitor. */
const askMonitor = boundedFetch({ maxBytes: 256 * 2 ** 20, isTrusted: true });
const ANSWER_WITHIN_MS = 120_000;

export interface StoreEpisodesOptions {
  /** Address of the monitor that has recorded the run. */
  monitor: string;
  /** Access token, which the monitor requires from other machines. */
  token?: string;
  runId: string;
  /** File to write; an existing one is replaced. */
  out: string;
  /** Filters by the verifier's verdict. Default: all. */
  success?: 'yes' | 'no' | 'unknown';
  /** Filters by a text in the task's id or description. */
  task?: string;
  signal?: AbortSignal;
  /** Called with the number of episodes written. */
  onProgress?: (episodes: number) => void;
}

export interface StoredFile {
  path: string;
  episodes: number;
  images: number;
  bytes: number;
}

/**
 * Writes the training episodes that a monitor has recorded of a run to a file of `StoredEpisode`s, with the
 * screenshots of their prompts. Rejects without leaving a file if the monitor does not know the run or has lost the
 * screenshots.
 */
export async function storeEpisodes(options: StoreEpisodesOptions): Promise<StoredFile> {
  const { out } = options;
  const writing = `${out}.writing`;
  const file = await open(writing, 'w');
  try {
    const written = await write(file, options);
    await file.close();
    await rename(writing, out);
    return { path: out, ...written };
  } catch (error) {
    await file.close();
    await rm(writing, { force: true });
    throw error;
  }
}

async function write(file: FileHandle, options: StoreEpisodesOptions): Promise<Omit<StoredFile, 'path'>> {
  const known = new Set<string>();
  let [episodes, bytes] = [0, 0];
  for await (const trajectory of recorded(options)) {
    const images: Record<string, string> = {};
    for (const hash of trajectory.turns.flatMap(({ promptImages }) => promptImages)) {
      if (known.has(hash)) continue;
      known.add(hash);
      images[hash] = await screenshot(options, hash);
    }
    const line: StoredEpisode = { trajectory, ...(Object.keys(images).length === 0 ? {} : { images }) };
    const text = `${JSON.stringify(line)}\n`;
    await file.write(text);
    episodes += 1;
    bytes += Buffer.byteLength(text);
    options.onProgress?.(episodes);
  }
  if (episodes === 0) throw new Error(`the monitor has no such training episode of run ${options.runId}`);
  return { episodes, images: known.size, bytes };
}

/** Valid training episodes, latest first. */
async function* recorded(options: StoreEpisodesOptions): AsyncGenerator<Trajectory> {
  const { runId, success, task } = options;
  let before: string | null = null;
  do {
    const query = new URLSearchParams({ purpose: 'train' });
    if (success !== undefined) query.set('success', success);
    if (task !== undefined) query.set('task', task);
    if (before !== null) query.set('before', before);
    const response = await ask(options, `runs/${encodeURIComponent(runId)}/trajectories?${query.toString()}`);
    const page = (await response.json()) as { trajectories: Trajectory[]; cursor: string | null };
    yield* page.trajectories.filter(({ status }) => status !== 'invalid');
    before = page.cursor;
  } while (before !== null);
}

async function screenshot(options: StoreEpisodesOptions, hash: string): Promise<string> {
  const response = await ask(options, `runs/${encodeURIComponent(options.runId)}/screenshots/${hash}`);
  return Buffer.from(await response.arrayBuffer()).toString('base64');
}

async function ask({ monitor, token, signal }: StoreEpisodesOptions, path: string): Promise<Response> {
  const address = `${monitor.replace(/\/$/, '')}/api/${path}`;
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const late = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const ends = signal === undefined ? late : AbortSignal.any([signal, late]);
  const response = await askMonitor(address, { headers, signal: ends });
  if (response.ok) return response;
  const said = (await response.json().catch(() => ({}))) as { message?: unknown };
  const why = typeof said.message === 'string' ? said.message : response.statusText;
  throw new Error(`${address} answers with status ${response.status}: ${why}`);
}
