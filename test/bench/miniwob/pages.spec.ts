import { findMiniwob } from '@ui-rl/testkit';
import { check } from './check';
import { solve, type Solvers } from './popups';
import { compareResets } from './resets';
import { World } from './world';

const SOLVERS: Solvers = {
  'click-test': (screen) => screen.click(/^ *button/),
  'click-button': (screen, goal) => screen.click(new RegExp(`button ${quoted(goal)}`)),
  'click-dialog': (screen) => screen.click(/button "Close"/),
  'focus-text': (screen) => screen.click(/^ *textbox/),
  async 'enter-text'(screen, goal) {
    await screen.click(/textbox/);
    await screen.type(JSON.parse(quoted(goal)) as string);
    await screen.click(/button "Submit"/);
  },
  async 'click-checkboxes'(screen, goal) {
    const [, names] = /^Select (.*) and click Submit/.exec(goal)!;
    for (const name of names === 'nothing' ? [] : names.split(', '))
      await screen.click(new RegExp(`checkbox "${name}"`));
    await screen.click(/button "Submit"/);
  },
};

function quoted(goal: string): string {
  return /".*?"/.exec(goal)![0];
}

/** The original pages, downloaded by the setup. */
describe('pages of MiniWoB++ 1.1.0', () => {
  let world: World;
  beforeAll(async () => (world = await World.start(findMiniwob(), 2, { observation: 'both' })));
  afterAll(() => world.close());

  const taskOf = (page: string) => world.tasks.find(({ id }) => id === `miniwob.${page}`)!;

  it.each(Object.keys(SOLVERS))('%s is solved by what its screen says', async (page) => {
    const { episodes } = (await solve(world, taskOf(page), [0, 1, 2], SOLVERS))!;
    expect(episodes).toMatchObject(Array.from({ length: 3 }, () => ({ done: true, success: true })));
  });

  it.each(['choose-list', 'enter-date'])('%s is solved by the popups of its controls', async (page) => {
    const { episodes } = (await solve(world, taskOf(page), [0]))!;
    expect(episodes).toMatchObject([{ done: true, raw: 1 }]);
  });

  it.each(['click-pie', 'use-colorwheel', 'book-flight'])(
    '%s begins alike from the same seed',
    async (page) => {
      expect(await check(world, taskOf(page), [0])).toMatchObject({
        sameFrame: true,
        sameGoal: true,
        episodes: [{ seed: 0 }],
      });
    },
  );
});

describe('a page that is reset in place', () => {
  let loaded: World;
  let reset: World;
  beforeAll(async () => {
    loaded = await World.start(findMiniwob(), 1);
    reset = await World.start(findMiniwob(), 1, { reset: 'in_place' });
  });
  afterAll(() => Promise.all([loaded.close(), reset.close()]));

  it.each(['click-dialog', 'click-collapsible', 'email-inbox-delete'])(
    'plays as one that is loaded: %s',
    async (page) => {
      const task = loaded.tasks.find(({ id }) => id === `miniwob.${page}`)!;
      const compared = await compareResets(loaded, reset, task, [0, 1, 2, 3, 4]);
      // The first is loaded, the next two are compared, the last two are reset in place.
      expect(compared).toMatchObject({ episodes: 5, otherFirst: [], otherRaw: [] });
      expect(compared.anew).toEqual({ 'its first frame is compared': 2 });
    },
    120_000,
  );
});
