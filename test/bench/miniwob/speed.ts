import { loadavg } from 'node:os';
import type { Task } from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import { processorMs } from './processor-time';
import { randomClick, type Opened, type World } from './world';

/** Rounds of steps, each with new pages. */
const ROUNDS = 5;

/** Times a page is opened before its resets are measured. */
const OPENED_BEFORE = 4;

export interface Speed {
  count: number;
  perSecond: number;
  /** CPU time of all involved processes, in ms per operation. */
  processorMs: number;
  /** Load average of the last minute at the time of the measurement. */
  load: number;
}

/** Opens pages in random order with the given concurrency, closing each before the next. */
export async function openings(world: World, pages: number, count: number): Promise<Speed> {
  const random = new Random(1);
  const open = async () => (await world.open(random.pick(world.tasks), random.below(1e6))).close();
  // The first ones start the browser.
  await inParallel(pages, pages, open);
  return measured(count, () => inParallel(pages, count, open));
}

/**
 * Resets pages in place in random order with the given concurrency; each worker has its own pages, which stay open.
 * Each page is opened first until its first frames have been compared, so that the measurement matches a long run.
 */
export async function resets(
  world: World,
  tasks: readonly Task[],
  pages: number,
  count: number,
): Promise<Speed> {
  const random = new Random(3);
  const open = async (task: Task) => (await world.open(task, random.below(1e6))).close();
  const ownOf = (worker: number) => tasks.filter((_, at) => at % pages === worker);
  const each = (work: (own: readonly Task[]) => Promise<void>) =>
    Promise.all(Array.from({ length: pages }, (_, worker) => work(ownOf(worker))));
  await each(async (own) => {
    for (let round = 0; round < OPENED_BEFORE; round++) for (const task of own) await open(task);
  });
  return measured(count, () =>
    each(async (own) => {
      for (let reset = 0; reset < count / pages; reset++) await open(random.pick(own));
    }),
  );
}

/** Clicks at random positions of pages in random order, with the given concurrency; opening pages is not measured. */
export async function steps(world: World, pages: number, count: number): Promise<Speed> {
  const random = new Random(2);
  const open = () => world.open(random.pick(world.tasks), random.below(1e6));
  const each = Math.ceil(count / pages / ROUNDS);
  const rounds: Speed[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const opened = await Promise.all(Array.from({ length: pages }, open));
    const play = async (player: Opened) => {
      for (let step = 0; step < each; step++) await player.step(randomClick(random));
    };
    rounds.push(await measured(each * pages, () => Promise.all(opened.map(play))));
    await Promise.all(opened.map((player) => player.close()));
  }
  const seconds = rounds.reduce((sum, { count: n, perSecond }) => sum + n / perSecond, 0);
  const total = each * pages * ROUNDS;
  const used = rounds.reduce((sum, { processorMs: ms }) => sum + ms, 0) / ROUNDS;
  return { count: total, perSecond: total / seconds, processorMs: used, load: loadavg()[0] };
}

/** Runs work `count` times with the given concurrency. */
async function inParallel(workers: number, count: number, work: () => Promise<unknown>): Promise<void> {
  let begun = 0;
  const next = async () => {
    while (begun++ < count) await work();
  };
  await Promise.all(Array.from({ length: workers }, next));
}

async function measured(count: number, work: () => Promise<unknown>): Promise<Speed> {
  const [began, used] = [performance.now(), processorMs()];
  await work();
  const seconds = (performance.now() - began) / 1000;
  return {
    count,
    perSecond: count / seconds,
    processorMs: (processorMs() - used) / count,
    load: loadavg()[0],
  };
}
