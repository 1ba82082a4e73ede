import type { Task } from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import { descendants, growthOf, type Growth } from '@ui-rl/testkit';
import { filesBelow, memoryOf, openFilesOf } from './proc';
import { anything } from './random-agent';
import type { World } from './worlds';

export interface PlayOptions {
  episodes: number;
  /** Actions of an episode. */
  steps: number;
  atOnce: number;
  seed: number;
  /** Folder of all files of this process and its children. */
  folder: string;
  onReading?: (episodes: number, reading: Occupied) => void;
}

/** Resources of an environment between episodes. */
export interface Occupied {
  /** MB of this process, after garbage collection if available. */
  memory: number;
  /** MB of all child processes. */
  memoryOfOthers: number;
  processes: number;
  /** Chromium processes with pages. */
  renderers: number;
  openFiles: number;
  files: number;
}

export interface Played {
  episodes: number;
  actions: number;
  seconds: number;
  /** Median. */
  openMs: number;
  actionMs: number;
  /** Outcome of the episode → count. */
  ends: Map<string, number>;
  /** By number of episodes. */
  readings: [episodes: number, occupied: Occupied][];
}

/** Readings of a run. */
const ROUNDS = 20;
const [OPEN_MS, ACT_MS] = [60_000, 30_000];

/** Plays episodes with a random agent, and measures resources between episodes. */
export async function playAtRandom(world: World, options: PlayOptions): Promise<Played> {
  const { episodes, atOnce, folder, onReading } = options;
  const played: Played = {
    ...{ episodes, actions: 0, seconds: 0, openMs: 0, actionMs: 0, ends: new Map(), readings: [] },
  };
  const openMs: number[] = [];
  const began = performance.now();
  let next = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const until = Math.round((episodes * round) / ROUNDS);
    const play = async (): Promise<void> => {
      while (next < until) {
        const end = await playOne(world, options, next++, played, openMs);
        played.ends.set(end, (played.ends.get(end) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, play));
    world.forget();
    const occupied = read(folder);
    played.readings.push([next, occupied]);
    onReading?.(next, occupied);
  }
  played.seconds = (performance.now() - began) / 1_000;
  played.openMs = openMs.toSorted((a, b) => a - b)[Math.floor(openMs.length / 2)] ?? 0;
  played.actionMs /= Math.max(1, played.actions);
  return played;
}

async function playOne(
  { sessions, tasks }: World,
  { seed, steps }: PlayOptions,
  index: number,
  played: Played,
  openMs: number[],
): Promise<string> {
  const random = new Random(seed + index);
  const task: Task = tasks[index % tasks.length];
  const began = performance.now();
  const opened = await sessions.open({
    ...{ task, seed: index, owner: `e${index}`, leaseMs: 120_000, deadlineMs: OPEN_MS },
  });
  if (!opened.ok) return `not opened, ${opened.error.code}: ${opened.error.message}`;
  openMs.push(performance.now() - began);
  const { sessionId, screenshot } = opened.value;
  // Sometimes the session is abandoned without being closed.
  const leaves = random.chance(0.05) ? random.below(steps) : steps;
  for (let step = 0; step < leaves; step += 1) {
    const acting = performance.now();
    const action = anything(random, screenshot);
    const reply = await sessions.step({ sessionId, stepId: `s${step}`, action, deadlineMs: ACT_MS });
    played.actionMs += performance.now() - acting;
    played.actions += 1;
    if (!reply.ok) return `invalid, ${reply.error.code}: ${reply.error.message}`;
    if (reply.value.done) break;
  }
  const closed = await sessions.closeSession(sessionId);
  return closed.ok ? 'played' : `invalid, ${closed.error.code}: ${closed.error.message}`;
}

export function read(folder: string): Occupied {
  (globalThis as { gc?: () => void }).gc?.();
  const others = descendants(process.pid);
  const sum = (each: (pid: number) => number) => others.reduce((total, { pid }) => total + each(pid), 0);
  return {
    memory: memoryOf(process.pid),
    memoryOfOthers: sum(memoryOf),
    processes: others.length,
    renderers: others.filter(({ command }) => command.includes('--type=renderer')).length,
    openFiles: openFilesOf(process.pid) + sum(openFilesOf),
    files: filesBelow(folder).length,
  };
}

/** Growth over the episodes. */
export function growths({ readings }: Pick<Played, 'readings'>): Record<keyof Occupied, Growth> {
  const growth = (name: keyof Occupied): Growth =>
    growthOf(readings.map(([at, occupied]) => [at, occupied[name]] as const));
  return {
    memory: growth('memory'),
    memoryOfOthers: growth('memoryOfOthers'),
    processes: growth('processes'),
    renderers: growth('renderers'),
    openFiles: growth('openFiles'),
    files: growth('files'),
  };
}
