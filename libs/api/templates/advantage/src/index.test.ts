import assert from 'node:assert/strict';
import test from 'node:test';
import type { EpisodeGroup } from '@ui-rl/plugin-kit';
import component from './index.js';

const groupOf = (...rewards: number[]): EpisodeGroup => ({
  task: { description: 'Turn on Wi-Fi' },
  episodes: rewards.map((reward, index) => ({
    rolloutId: 'episode-' + index,
    reward,
    rewards: { 'task-success': reward },
    success: reward > 0,
    status: 'completed',
    turns: [{ reward, screenshot: 'a'.repeat(64), logprobs: new Float32Array(2), inputs: {} }],
  })),
});

test('every token gets the distance of its episode from the mean of the group', () => {
  const { advantages, metrics } = component
    .create({ scale: 2 }, {})
    .estimate([groupOf(1, 0), groupOf(1, 1, 1, 1)]);
  assert.deepEqual(advantages[0], [[new Float32Array([1, 1])], [new Float32Array([-1, -1])]]);
  for (const turns of advantages[1]) assert.deepEqual(turns, [new Float32Array([0, 0])]);
  assert.deepEqual(metrics, { groups: 2 });
});
