import { loadavg } from 'node:os';
import type { Task } from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import { processorMs } from './processor-time';
import { randomClick, type Opened, type World } from './world';

/** Of steps: each on pages of its own. */
const ROUNDS = 5;

/** Times that a page is opened before its resets are measured. */
const OPENED_BEFORE = 4;

export interface Speed {
  count: number;
  perSecond: number;
  /** Processor time of everything that took part, in ms for each. */
  processorMs: number;
  /** Of the machine in the last minute, when it was measured. */
  load: number;
}

/** Opens pages in random order, so many at once, closing each before the next. */
export async function openings(world: World, pages: number, count: number): Promise<Speed> {
  const random = new Random(1);
  const open = async () => (await world.open(random.pick(world.tasks), random.below(1e6))).close();
  // The first ones start the browser.
  await inParallel(pages, pages, open);
  return measured(count, () => inParallel(pages, count, open));
}

/**
 * Resets pages in place in random order, so many at once, of which each has pages of its own that stay open. Before, each page is opened until its first frames
 * have been compared, so that what is measured is what a long run has.
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

/** Clicks at random places of pages in random order, so many at once; openings stand outside of what is measured. */
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

/** So often, some of them at once. */
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
