import type { CorrectionComponent } from '@ui-rl/plugin-kit';

interface Options {
  most: number;
}

const component: CorrectionComponent<Options> = {
  kind: 'correction',
  name: 'my-component',
  description: 'Weights tokens by the ratio of training policy to sampling policy, up to a bound.',
  options: {
    most: { type: 'number', default: 2, above: 0, description: 'upper bound of the ratio' },
  },
  create: ({ most }) => ({
    // A factor per token of each turn; 0 masks it.
    weights: (turns) =>
      turns.map(({ sampleLogprobs, proximalLogprobs }) =>
        proximalLogprobs.map((logprob, token) => Math.min(most, Math.exp(logprob - sampleLogprobs[token]))),
      ),
  }),
};

export default component;
