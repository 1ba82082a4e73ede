import { isDeepStrictEqual } from 'node:util';
import { PageRenderer, type LivePage, type ScreenTruth } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { holds } from '../screen/boxes';
import { isTaken } from '../wording/provenance';
import { makeTask, pageFor, play, TASK_KINDS, walk, type Task, type TaskKind } from '.';

/** Tasks of each kind to solve, each on its own page. */
const SEEDS = 20;
/** Share of tasks whose page hides required elements, such as a list that is lower than one wheel notch. */
const MOST_UNDONE = 0.15;
const MOST_PAGES = 1200;
const AT_ONCE = 4;
const MINUTES = 60_000;

let renderer: PageRenderer;
beforeAll(async () => {
  renderer = await PageRenderer.launch();
});
afterAll(() => renderer.close());

/** Runs a task of a kind on the page of a seed, if that page supports it. */
async function onPage<T>(
  kind: TaskKind,
  seed: number,
  use: (task: Task, live: LivePage, random: Random) => Promise<T>,
): Promise<T | undefined> {
  const page = pageFor(kind, seed);
  if (page === undefined) return undefined;
  const live = await renderer.open(page);
  try {
    const random = new Random(seed);
    const task = makeTask(kind, page, await live.truth(), random, 'training');
    return task === undefined ? undefined : await use(task, live, random);
  } finally {
    await live.close();
  }
}

/** Results of the first tasks of a kind, some of them run concurrently. */
async function ofKind<T>(
  kind: TaskKind,
  count: number,
  use: (task: Task, live: LivePage, random: Random) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  let seed = 0;
  const work = async () => {
    while (found.length < count && seed < MOST_PAGES) {
      const one = await onPage(kind, ++seed, use);
      if (one !== undefined) found.push(one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

function isOnNothing({ x, y }: { x: number; y: number }, { elements }: ScreenTruth): boolean {
  return !elements.some(({ box, interactive }) => interactive && holds(box, x, y));
}

describe('solvers', () => {
  it.each(TASK_KINDS)(
    'do tasks on real pages: %s',
    async (kind) => {
      const ends = await ofKind(kind, SEEDS, async (task, live) => {
        expect(task.isDone(await live.state())).toBe(false);
        return { end: await play(task, live), goal: task.goal };
      });
      expect(ends.length).toBeGreaterThanOrEqual(SEEDS);
      expect(ends.filter(({ end }) => end === 'mistaken')).toEqual([]);
      expect(ends.filter(({ end }) => end !== 'done').length).toBeLessThanOrEqual(MOST_UNDONE * ends.length);
    },
    5 * MINUTES,
  );
});

describe('walks', () => {
  it(
    'show every screen with its right next action, and the way back from a stray one',
    async () => {
      const walks = await ofKind('several checkboxes', 6, (task, live, random) =>
        walk(task, live, random, { stray: 0.5, most: 30 }),
      );
      expect(walks.filter(({ end }) => end === 'done').length).toBeGreaterThanOrEqual(5);
      for (const { steps } of walks) {
        expect(new Set(steps.map(({ goal }) => goal)).size).toBe(1);
        for (const { screen } of steps) expect(screen.rgb.length).toBe(3 * screen.width * screen.height);
      }
    },
    5 * MINUTES,
  );

  it(
    'miss targets, after which the same step is right again',
    async () => {
      const walks = await ofKind('one checkbox', 12, (task, live, random) =>
        walk(task, live, random, { stray: 0.7, most: 30 }),
      );
      let [missed, unchanged] = [0, 0];
      for (const { steps } of walks) {
        steps.slice(1).forEach(({ past, action }, before) => {
          const [done, right] = [past.at(-1)!, steps[before].action];
          if (done.action !== 'click' || isDeepStrictEqual(done, right)) return;
          if (!isOnNothing(done, steps[before].screen.truth)) return;
          missed++;
          if (isDeepStrictEqual(action, right)) unchanged++;
        });
      }
      expect(missed).toBeGreaterThanOrEqual(5);
      // The space around a label may belong to it.
      expect(unchanged / missed).toBeGreaterThan(0.8);
    },
    5 * MINUTES,
  );

  it(
    'are the same for the same seed',
    async () => {
      const goals = async () => {
        const found: (string | undefined)[] = [];
        for (let seed = 1; seed <= 10; seed++) {
          found.push(await onPage('form', seed, (task) => Promise.resolve(task.goal)));
        }
        return found;
      };
      const first = await goals();
      expect(first.some((goal) => goal !== undefined)).toBe(true);
      expect(await goals()).toEqual(first);
    },
    5 * MINUTES,
  );
});

it(
  'never states a goal that MiniWoB++ or the demo phone has',
  async () => {
    const goals = await ofKind('one checkbox', 20, (task) => Promise.resolve(task.goal));
    expect(goals.filter(isTaken)).toEqual([]);
  },
  5 * MINUTES,
);
