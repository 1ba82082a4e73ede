// The difference between an episode's return and the median of its group; later turns count less.
module.exports.default = {
  kind: 'advantage',
  name: 'median',
  description: 'distance from the median of the group, fading from turn to turn',
  options: {
    fade: {
      type: 'number',
      default: 1,
      above: 0,
      atMost: 1,
      description: 'factor from one turn to the next',
    },
  },
  create: ({ fade }) => ({
    estimate(groups) {
      const spread = [];
      const advantages = groups.map(({ episodes }) => {
        const rewards = episodes.map(({ reward }) => reward).sort((a, b) => a - b);
        const median = (rewards[(rewards.length - 1) >> 1] + rewards[rewards.length >> 1]) / 2;
        spread.push(rewards.at(-1) - rewards[0]);
        return episodes.map(({ reward, turns }) =>
          turns.map(({ logprobs }, turn) => logprobs.map(() => (reward - median) * fade ** turn)),
        );
      });
      return { advantages, metrics: { spread: Math.max(...spread) } };
    },
  }),
};
