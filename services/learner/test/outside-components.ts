/** The file of a plugin: estimators, a correction, an optimizer and losses. */
export const OUTSIDE = `
const parity = {
  kind: 'advantage',
  name: 'by-turn',
  options: { scale: { type: 'number', description: 'size of advantages', default: 1 } },
  create: ({ scale }) => ({
    estimate: (groups) => ({
      advantages: groups.map(({ episodes }) =>
        episodes.map(({ turns }) =>
          turns.map(({ logprobs }, index) => logprobs.map(() => (index % 2 === 0 ? scale : -scale))),
        ),
      ),
      metrics: { scale },
    }),
    hasLearningSignal: () => true,
  }),
};
const nearReference = {
  kind: 'advantage',
  name: 'reference',
  inputs: ['reference_logprobs'],
  create: () => ({
    estimate: (groups) => ({
      advantages: groups.map(({ episodes }) =>
        episodes.map(({ turns }) => turns.map(({ inputs }) => inputs.reference_logprobs)),
      ),
    }),
  }),
};
const plainDescent = {
  kind: 'optimizer',
  name: 'plain-descent',
  create: () => ({
    state: [],
    update({ weight, gradient }, { learningRate }) {
      for (let i = 0; i < weight.length; i += 1) weight[i] -= learningRate * gradient[i];
    },
  }),
};
const plain = {
  kind: 'correction',
  name: 'plain',
  create: () => ({ weights: (turns) => turns.map(({ proximalLogprobs }) => proximalLogprobs.map(() => 1)) }),
};
const returnsLoss = { kind: 'policy-loss', name: 'regress', inputs: ['advantages', 'returns'], scope: 'token', create: () => ({}) };
const critic = { kind: 'policy-loss', name: 'critic', inputs: ['advantages', 'values'], scope: 'token', create: () => ({}) };
const seer = { kind: 'advantage', name: 'seer', inputs: ['values'], create: () => ({ estimate: () => ({}) }) };
module.exports.components = [parity, nearReference, plainDescent, plain, returnsLoss, critic, seer];
`;
