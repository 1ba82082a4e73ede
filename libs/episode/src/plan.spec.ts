import { loadComponents } from '@ui-rl/plugin-kit';
import { readRunFile } from '@ui-rl/settings';
import { planEpisodes } from './plan';

const MINIMAL = { model: { name: 'm' }, tasks: 'demo_training', training: { max_steps: 1 } };

describe('the history of prompts', () => {
  it.each([
    ['one turn by default', {}, {}, 1, Infinity],
    ['turns with their screenshots', { history_turns: 3 }, {}, 3, Infinity],
    ['all turns, the newest with screenshots', {}, { history_screenshots: 2 }, Infinity, 2],
    ['turns, the newest with screenshots', { history_turns: 3 }, { history_screenshots: 2 }, 3, 2],
  ])('has %s', async (_, model, rollout, historyTurns, historyScreenshots) => {
    const components = await loadComponents();
    const options = { ...MINIMAL, model: { ...MINIMAL.model, ...model }, rollout };
    const { plan, close } = await planEpisodes(
      readRunFile({ options }, components),
      components,
      () => undefined,
    );
    expect(plan).toMatchObject({ historyTurns, historyScreenshots });
    await close();
  });
});
