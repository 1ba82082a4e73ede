import { PageRenderer, type LivePage } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { ScreenView } from '../screen/view';
import { Attempt, makeTask, nextStep, pageFor, play, type Standing, type TaskKind } from '.';

const MOST_TURNS = 24;
let renderer: PageRenderer;
beforeAll(async () => {
  renderer = await PageRenderer.launch();
});
afterAll(() => renderer.close());

/** An attempt at the first task of a kind that ends by a click, or does not. */
async function attemptAt(
  kind: TaskKind,
  endsByClick: boolean,
): Promise<{ attempt: Attempt; live: LivePage }> {
  for (let seed = 0; ; seed++) {
    const page = pageFor(kind, seed);
    if (page === undefined) continue;
    const live = await renderer.open(page);
    const task = makeTask(kind, page, await live.truth(), new Random(seed), 'training');
    if (task?.endsByClick === endsByClick) return { attempt: new Attempt(task, live), live };
    await live.close();
  }
}

/** The standing after each action of the solver. */
async function solve(attempt: Attempt, live: LivePage): Promise<Standing[]> {
  const standings: Standing[] = [];
  while (standings.length < MOST_TURNS) {
    const { action } = nextStep(attempt.task, await live.truth());
    if (action.action === 'finish') break;
    standings.push(await attempt.perform(action));
    if (standings.at(-1) !== 'open') break;
  }
  return standings;
}

describe('an attempt at a task', () => {
  it.each(['click', 'type', 'form', 'mixed', 'dialog', 'type and enter'] as const)(
    'of the kind "%s" is over when its last click or key reaches the goal',
    async (kind) => {
      const { attempt, live } = await attemptAt(kind, true);
      expect(await attempt.isDone()).toBe(false);
      const standings = await solve(attempt, live);
      expect(standings.at(-1)).toBe('done');
      expect(standings.slice(0, -1).every((standing) => standing === 'open')).toBe(true);
      expect(await attempt.isDone()).toBe(true);
      await live.close();
    },
  );

  it('is spoiled for good by the last click before the other parts', async () => {
    const { attempt, live } = await attemptAt('form', true);
    const submit = attempt.task.subgoals.at(-1)!(new ScreenView(await live.truth()));
    if (typeof submit === 'string') throw new Error(submit);
    expect(await attempt.perform(submit.action)).toBe('spoiled');
    await play(attempt.task, live);
    expect(attempt.task.isDone(await live.state())).toBe(true);
    expect(await attempt.isDone()).toBe(false);
    expect(await attempt.perform(submit.action)).toBe('spoiled');
    await live.close();
  });

  it('stays open if its result is visible, so that the policy ends it', async () => {
    const { attempt, live } = await attemptAt('toggles', false);
    const standings = await solve(attempt, live);
    expect(standings.length).toBeGreaterThan(0);
    expect(new Set(standings)).toEqual(new Set(['open']));
    expect(await attempt.isDone()).toBe(true);
    await live.close();
  });
});
