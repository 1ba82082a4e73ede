import type { RewardComponent } from '@ui-rl/plugin-kit';

interface Options {
  bonus: number;
}

const component: RewardComponent<Options> = {
  kind: 'reward',
  name: 'my-component',
  description: 'Pays more for a success in fewer turns.',
  options: {
    bonus: { type: 'number', default: 1, above: 0, description: 'reward for a success in one turn' },
  },
  create: ({ bonus }) => ({
    score({ success, turns }) {
      return success === true ? bonus / turns.length : 0;
    },
  }),
};

export default component;
