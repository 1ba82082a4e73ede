import { Random } from '@ui-rl/random';
import type { Task } from '@ui-rl/plugin-kit';
import { randomClick, type World } from './world';

/** The result of a page. */
export interface Checked {
  page: string;
  goal: string;
  /** Whether the same seed gave the same first frame, and the same goal, twice. */
  sameFrame: boolean;
  sameGoal: boolean;
  /** Episodes of a random agent, one per seed. */
  episodes: {
    seed: number;
    /** Positions of its clicks, x and y within the page. */
    clicks: [number, number][];
    done: boolean;
    raw: number;
    success: boolean;
    positive: boolean;
  }[];
  /** Why it could not be played. */
  error?: string;
}

/** Opens a page twice with the same seed, and plays it with a random agent for each of some seeds. */
export async function check(world: World, task: Task, seeds: readonly number[]): Promise<Checked> {
  const page = task.id!.replace('miniwob.', '');
  const checked: Checked = { page, goal: '', sameFrame: false, sameGoal: false, episodes: [] };
  try {
    const [one, two] = [await world.open(task, seeds[0]), await world.open(task, seeds[0])];
    checked.goal = String(one.state.goal);
    checked.sameFrame = one.sha256 === two.sha256;
    checked.sameGoal = one.state.goal === two.state.goal && checked.goal.trim() !== '';
    await Promise.all([one.close(), two.close()]);
    for (const seed of seeds) checked.episodes.push(await episode(world, task, seed));
  } catch (error) {
    checked.error = String(error);
  }
  return checked;
}

async function episode(world: World, task: Task, seed: number): Promise<Checked['episodes'][number]> {
  const random = new Random(seed);
  const opened = await world.open(task, seed);
  const clicks: [number, number][] = [];
  let done = false;
  while (clicks.length < (task.maxSteps ?? 10) && !done) {
    const click = randomClick(random);
    clicks.push([click.x, click.y]);
    ({ done } = await opened.step(click));
  }
  const { raw_reward: raw, success, positive } = await opened.close();
  if (typeof raw !== 'number') throw new Error(`the page gave ${JSON.stringify(raw)} as its raw reward`);
  return { seed, clicks, done, raw, success: success === true, positive: positive === true };
}

/** One line for each page, and a summary. */
export function table(all: readonly Checked[]): string {
  const lines = all.map(({ page, goal, sameFrame, sameGoal, episodes, error }) => {
    const mean = (of: (each: Checked['episodes'][number]) => number) =>
      (episodes.reduce((sum, each) => sum + of(each), 0) / Math.max(1, episodes.length)).toFixed(2);
    const figures = [
      mean(({ success }) => Number(success)),
      mean(({ positive }) => Number(positive)),
      mean(({ raw }) => raw),
    ];
    const same = `${sameFrame ? 'same' : 'OTHER'} frame, ${sameGoal ? 'same' : 'OTHER'} goal`;
    return `${page.padEnd(28)} ${error ?? `${figures.map((each) => each.padStart(6)).join(' ')}  ${same}  ${goal.slice(0, 60)}`}`;
  });
  const failed = all.filter(({ error }) => error !== undefined).map(({ page }) => page);
  const animated = all
    .filter(({ sameFrame, error }) => !sameFrame && error === undefined)
    .map(({ page }) => page);
  return [
    `${'page'.padEnd(28)} strict   >0    raw`,
    ...lines,
    `${all.length} pages, ${failed.length} failed: ${failed.join(' ') || 'none'}`,
    `first frames that differ: ${animated.join(' ') || 'none'}`,
  ].join('\n');
}
