import { createHash } from 'node:crypto';
import type { Policy } from '@ui-rl/episode';
import { VisionLanguageModel } from '../model/vision-language-model';
import { runTask, runTasks } from './run-tasks';

const runFile = {
  model: { prompt: 'compact' as const },
  rollout: { max_turns: 4, max_tokens: 24 },
};

/** A policy that gives the same answer in every turn. */
function saying(text: string): Policy {
  return {
    modelImage: async (size) => size,
    act: async ({ images }) => ({
      promptTokenIds: [1],
      promptImages: images.map((png) => createHash('sha256').update(png).digest('hex')),
      imageTokens: 1,
      tokenIds: [2],
      logprobs: [-1],
      text,
      finishReason: 'stop',
      policyVersion: 0,
      adapterDigest: '',
    }),
  };
}

describe('with the shipped model', () => {
  let policy: VisionLanguageModel;

  beforeAll(async () => {
    policy = await VisionLanguageModel.load('small', { device: 'cpu' });
  });
  afterAll(() => policy.stop());

  it('several actors play tasks with one model, and the episodes come in the order of the tasks', async () => {
    const tasks = ['Open Settings', 'Turn on Wi-Fi', 'Open Settings'];
    const over: number[] = [];
    const play = () =>
      runTasks(tasks, { policy, runFile, actors: 2, seed: 5, onEpisode: (_, place) => over.push(place) });
    const episodes = await play();
    expect(over.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
    expect(episodes.map(({ request }) => request.task.description)).toEqual(tasks);
    expect(episodes.map(({ request }) => request.seed)).toEqual([5, 6, 7]);
    for (const { status, success, turns, reward, rewards, screenshot } of episodes) {
      expect(status).toMatch(/completed|truncated/);
      expect(rewards).toEqual({ 'task-success': success === true ? 1 : 0 });
      expect(reward).toBe(rewards['task-success']);
      for (const turn of turns) {
        expect(JSON.parse(turn.text)).toEqual(turn.actions[0]);
        expect(turn.logprobs).toHaveLength(turn.tokenIds.length);
        const png = screenshot(turn.screenshot);
        expect(createHash('sha256').update(png).digest('hex')).toBe(turn.screenshot);
      }
    }
    const actions = (all: typeof episodes) => all.map(({ turns }) => turns.map((turn) => turn.actions));
    expect(actions(await play())).toEqual(actions(episodes));
  }, 180_000);
});

it('plays a whole task that no source knows, and asks any policy', async () => {
  const task = {
    description: 'Do nothing at all',
    environment: { kind: 'browser', options: { page: 'pocket' } },
  };
  const finish = saying('{"action":"finish","success":true}');
  const episode = await runTask(task, { policy: finish, runFile });
  expect(episode).toMatchObject({ status: 'completed', success: null, reward: 0 });
  expect(episode.turns).toMatchObject([{ actions: [{ action: 'finish', success: true }] }]);
  const garbled = await runTask(task, { policy: saying('hm'), runFile });
  expect(garbled.status).toBe('truncated');
  expect(garbled.turns.map(({ parseError }) => parseError)).toEqual(
    Array(4).fill(expect.stringContaining('no_action')),
  );
}, 60_000);

it('an environment that cannot play the task gives an invalid episode with the reason', async () => {
  const environment = { kind: 'browser', options: { page: 'none' } };
  const episode = await runTask({ description: 'x', environment }, { policy: saying('hm'), runFile });
  expect(episode).toMatchObject({ status: 'invalid', invalidReason: expect.stringMatching(/none/) });
}, 60_000);

it('a signal ends it, and what is wrong is said before anything starts', async () => {
  const abort = new AbortController();
  const ended = runTasks(['Open Settings', 'Turn on Wi-Fi', 'Turn on Wi-Fi'], {
    policy: saying('{"action":"finish","success":false}'),
    actors: 1,
    signal: abort.signal,
    onEpisode: () => abort.abort(new Error('enough')),
  });
  await expect(ended).rejects.toThrow('enough');
  const play = (more: object) => runTask('Open Settings', { policy: saying('hm'), ...more });
  await expect(play({ runFile: { rollout: { max_turnz: 3 } } })).rejects.toThrow(/max_turnz.*max_turns/s);
  await expect(play({ runFile: { environment: 'browsr' } })).rejects.toThrow(/environment/);
  await expect(runTask({ description: '' }, { policy: saying('hm') })).rejects.toThrow(/description/);
}, 60_000);
