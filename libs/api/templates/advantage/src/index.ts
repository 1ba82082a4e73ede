import type { AdvantageComponent } from '@ui-rl/plugin-kit';

interface Options {
  scale: number;
}

const component: AdvantageComponent<Options> = {
  kind: 'advantage',
  name: 'my-component',
  description: 'Return of an episode minus the mean of its group.',
  options: {
    scale: { type: 'number', default: 1, above: 0, description: 'factor on all advantages' },
  },
  create: ({ scale }) => ({
    // One number per sampled token: [group][episode][turn]; null to skip an episode.
    estimate(groups) {
      const advantages = groups.map(({ episodes }) => {
        const mean = episodes.reduce((sum, { reward }) => sum + reward, 0) / episodes.length;
        return episodes.map(({ reward, turns }) =>
          turns.map(({ logprobs }) => new Float32Array(logprobs.length).fill(scale * (reward - mean))),
        );
      });
      return { advantages, metrics: { groups: groups.length } };
    },
  }),
};

export default component;
