import type { OnEnd } from '@ui-rl/api';
import { FIRST_HELD_OUT_SEED, type Viewport } from '@ui-rl/page-generator';
import type { TaskKind } from '@ui-rl/page-tasks';
import { mix32, Random } from '@ui-rl/random';
import { viewportFor } from '../answering/batches';
import { POINTING_SCORE_SEEDS } from '../answering/stage';
import { FEATURE_SEEDS } from '../answering/start';
import { READING_SCORE_SEEDS, WHITENING_SEEDS } from '../reading/stage';
import { LiveScreens } from '../supply/live-screens';
import { ScreenRecorder } from '../supply/record';
import { VIEWPORT } from '../supply/source';
import type { OnProgress } from './stage';

export interface RecordOptions {
  out: string;
  /** Number of random training screens. */
  screens: number;
  /** Number of training tasks, with all screens on the way to their goals. */
  tasks: number;
  /** Kinds of these tasks; repeated ones are more frequent. Default: all. */
  kinds?: readonly TaskKind[] | undefined;
  seed: number;
  chromium?: string | undefined;
}

/** Screens of one size that are rendered together. */
const TOGETHER = 20;
const TASKS_AT_ONCE = 3;
const REPORT_EVERY = 400;

/** Records the screens that the stages draw by seed, and random training screens and tasks in their sizes. */
export async function recordScreens(
  { out, screens: count, tasks, kinds, seed, chromium }: RecordOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const live = await LiveScreens.launch(chromium);
  onEnd(() => live.close());
  const recorder = await ScreenRecorder.create(out);
  onEnd(() => recorder.close());
  const random = new Random(mix32(seed));
  const groups = [
    ...grouped(seedsOfStages(), () => VIEWPORT),
    ...grouped(
      Array.from({ length: count }, () => random.below(FIRST_HELD_OUT_SEED)),
      () => viewportFor(random.next()),
    ),
  ];
  const total = groups.reduce((sum, { seeds }) => sum + seeds.length, 0);
  const report = reporter(total, 'screens', onProgress);
  for (const { seeds, viewport } of groups) {
    report(seeds.length, await recorder.add(await live.bySeed(seeds, viewport)));
  }
  if (tasks > 0) await recordTasks(live, recorder, { tasks, kinds, seed }, onProgress);
}

async function recordTasks(
  live: LiveScreens,
  recorder: ScreenRecorder,
  { tasks, kinds, seed }: Pick<RecordOptions, 'tasks' | 'kinds' | 'seed'>,
  onProgress: OnProgress,
): Promise<void> {
  await recorder.addTasks(await live.heldOutTasks());
  const report = reporter(tasks, 'tasks', onProgress);
  let next = 0;
  const work = async () => {
    while (next < tasks) {
      const random = new Random(mix32(mix32(seed ^ 0x3c6ef372) + next++));
      const viewport = viewportFor(random.next());
      const choice = { seed: random.below(FIRST_HELD_OUT_SEED), viewport, kinds };
      report(1, await recorder.addTasks(await live.walk(random, choice)));
    }
  };
  await Promise.all(Array.from({ length: TASKS_AT_ONCE }, work));
}

interface Group {
  seeds: number[];
  viewport: Viewport;
}

function seedsOfStages(): number[] {
  return [
    ...new Set([...READING_SCORE_SEEDS, ...POINTING_SCORE_SEEDS, ...FEATURE_SEEDS, ...WHITENING_SEEDS]),
  ];
}

function grouped(seeds: readonly number[], viewport: () => Viewport): Group[] {
  return Array.from({ length: Math.ceil(seeds.length / TOGETHER) }, (_, index) => ({
    seeds: seeds.slice(index * TOGETHER, (index + 1) * TOGETHER),
    viewport: viewport(),
  }));
}

function reporter(
  total: number,
  what: string,
  onProgress: OnProgress,
): (count: number, bytes: number) => void {
  let [done, size, reported] = [0, 0, 0];
  return (count, bytes) => {
    done += count;
    size += bytes;
    if (done - reported < REPORT_EVERY && done < total) return;
    reported = done;
    const kib = (size / done / 1024).toFixed(1);
    onProgress(`${done}/${total} ${what}  ${(size / 2 ** 20).toFixed(1)} MiB  ${kib} KiB each`);
  };
}
