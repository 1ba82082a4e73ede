import { Random } from '@ui-rl/random';
import type { Task } from '@ui-rl/plugin-kit';
import { randomClick, type Opened, type World } from './world';

/** How often in-place resets of a page were used, and their differences from a fresh load. */
export interface Alike {
  page: string;
  episodes: number;
  /** Reason for a reload → how often. */
  anew: Record<string, number>;
  /** Seeds with a different first frame, later frames or raw reward. */
  otherFirst: number[];
  otherLater: number[];
  otherRaw: number[];
  error?: string;
}

/**
 * Plays the same episodes on pages that are loaded for each and on one that is reset in place, and compares the
 * results.
 */
export async function compareResets(
  loaded: World,
  reset: World,
  task: Task,
  seeds: readonly number[],
): Promise<Alike> {
  const page = task.id!.replace('miniwob.', '');
  const alike: Alike = { page, episodes: 0, anew: {}, otherFirst: [], otherLater: [], otherRaw: [] };
  const heard = reset.log.length;
  try {
    for (const seed of seeds) {
      const [one, two] = [await loaded.open(task, seed), await reset.open(task, seed)];
      if (one.sha256 !== two.sha256) alike.otherFirst.push(seed);
      const actions = actionsOf(seed, 8);
      const [a, b] = [await play(one, actions), await play(two, actions)];
      if (a.frames !== b.frames) alike.otherLater.push(seed);
      if (a.raw !== b.raw) alike.otherRaw.push(seed);
      alike.episodes++;
    }
  } catch (error) {
    alike.error = String(error);
  }
  for (const line of reset.log.slice(heard)) {
    const why =
      / is loaded anew: (.*)$/.exec(line)?.[1] ?? (/begins differently/.test(line) ? 'DIFFERS' : line);
    alike.anew[why] = (alike.anew[why] ?? 0) + 1;
  }
  return alike;
}

function actionsOf(seed: number, count: number): object[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () =>
    random.below(5) === 0 ? { action: 'type', text: 'ab' } : randomClick(random),
  );
}

async function play(opened: Opened, actions: readonly object[]): Promise<{ frames: string; raw: unknown }> {
  const frames: string[] = [];
  for (const action of actions) {
    const { sha256, done } = await opened.step(action);
    frames.push(sha256);
    if (done) break;
  }
  const { raw_reward: raw } = await opened.close();
  return { frames: frames.join(), raw };
}

/** One line for each page, and a summary. */
export function resetsTable(all: readonly Alike[]): string {
  const lines = all.map(({ page, episodes, anew, otherFirst, otherLater, otherRaw, error }) => {
    const others = `other first frames ${otherFirst.length}, later ${otherLater.length}, raw rewards ${otherRaw.length} of ${episodes}`;
    const why = Object.entries(anew).map(([reason, count]) => `${count} × ${reason}`);
    return `${page.padEnd(28)} ${error ?? [others, ...why].join('; ')}`;
  });
  const left = all.filter(({ anew }) => Object.keys(anew).some((reason) => reason.includes('has left')));
  const differing = all.filter(({ anew }) => 'DIFFERS' in anew);
  return [
    ...lines,
    `pages that are loaded anew since an episode leaves something: ${left.length}; since they begin differently: ${differing.length}`,
    `pages with another first frame: ${all.filter(({ otherFirst }) => otherFirst.length > 0).length} of ${all.length}`,
  ].join('\n');
}
