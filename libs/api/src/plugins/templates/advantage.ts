import type { Template } from '../template';

export const advantage: Template = {
  type: 'AdvantageComponent',
  types: { test: ['EpisodeGroup'] },
  options: 'scale: number;',
  description: 'How far the return of an episode is from the mean of its group.',
  members: `
  options: {
    scale: { type: 'number', default: 1, above: 0, description: 'factor on all advantages' },
  },
  create: ({ scale }) => ({
    // One number per sampled token: [group][episode][turn]; null for an episode that is not trained on.
    estimate(groups) {
      const advantages = groups.map(({ episodes }) => {
        const mean = episodes.reduce((sum, { reward }) => sum + reward, 0) / episodes.length;
        return episodes.map(({ reward, turns }) =>
          turns.map(({ logprobs }) => new Float32Array(logprobs.length).fill(scale * (reward - mean))),
        );
      });
      return { advantages, metrics: { groups: groups.length } };
    },
  }),`,
  test: `
const groupOf = (...rewards/*ts : number[]*/)/*ts : EpisodeGroup*/ => ({
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
  const { advantages, metrics } = component.create({ scale: 2 }, {}).estimate([groupOf(1, 0), groupOf(1, 1, 1, 1)]);
  assert.deepEqual(advantages[0], [[new Float32Array([1, 1])], [new Float32Array([-1, -1])]]);
  for (const turns of advantages[1]) assert.deepEqual(turns, [new Float32Array([0, 0])]);
  assert.deepEqual(metrics, { groups: 2 });
});`,
  choice: 'algorithm: { advantage: { name: NAME, scale: 2 } }',
};
