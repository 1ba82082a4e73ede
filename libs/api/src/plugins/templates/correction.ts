import type { Template } from '../template';

export const correction: Template = {
  type: 'CorrectionComponent',
  options: 'most: number;',
  description: 'Weighs tokens by the ratio of the policy that trains to the one that sampled, up to a bound.',
  members: `
  options: {
    most: { type: 'number', default: 2, above: 0, description: 'the ratio counts up to this' },
  },
  create: ({ most }) => ({
    // A factor per token of each turn; 0 masks it.
    weights: (turns) =>
      turns.map(({ sampleLogprobs, proximalLogprobs }) =>
        proximalLogprobs.map((logprob, token) => Math.min(most, Math.exp(logprob - sampleLogprobs[token]))),
      ),
  }),`,
  test: `
test('is the ratio, up to its bound', () => {
  const turn = {
    sampleLogprobs: new Float32Array([-1, -1, -4]),
    proximalLogprobs: new Float32Array([-1, -1 + Math.log(0.5), -1]),
  };
  const [weights] = component.create({ most: 2 }, {})?.weights([turn]) ?? [];
  assert.equal(weights.length, 3);
  [1, 0.5, 2].forEach((expected, token) => assert.ok(Math.abs(weights[token] - expected) < 1e-6));
});`,
  choice: 'algorithm: { correction: { name: NAME, most: 2 } }',
};
