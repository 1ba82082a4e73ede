import assert from 'node:assert/strict';
import test from 'node:test';
import type { JudgedEpisode } from '@ui-rl/plugin-kit';
import component from './index.js';

const context = {
  log: () => undefined,
  environment: {},
  reward: async () => {
    throw new Error('no other reward');
  },
};
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };
const screen = { sha256: 'a'.repeat(64), width: 160, height: 224, png: async () => new Uint8Array() };

const episode = (success: boolean | null, turnCount: number): JudgedEpisode => ({
  task: { description: 'Turn on Wi-Fi' },
  seed: 0,
  success,
  status: 'completed',
  turns: Array.from({ length: turnCount }, (_, index) => ({
    index,
    observation: screen,
    text: '',
    actions: [],
  })),
  finalObservation: screen,
  stateBefore: null,
  stateAfter: null,
});

test('a success pays more, the fewer turns it took', async () => {
  const reward = await component.create({ bonus: 2 }, context);
  assert.equal(await reward.score(episode(true, 1), deadline), 2);
  assert.equal(await reward.score(episode(true, 4), deadline), 0.5);
});

test('a failed or unjudged episode pays nothing', async () => {
  const reward = await component.create({ bonus: 2 }, context);
  assert.equal(await reward.score(episode(false, 1), deadline), 0);
  assert.equal(await reward.score(episode(null, 1), deadline), 0);
});
