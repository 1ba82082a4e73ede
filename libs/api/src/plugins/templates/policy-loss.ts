import type { Template } from '../template';

export const policyLoss: Template = {
  type: 'PolicyLossComponent',
  options: 'most: number;',
  description: 'The advantage times the probability ratio, which counts up to a bound.',
  members: `
  options: {
    most: { type: 'number', default: 2, above: 0, description: 'the ratio counts up to this' },
  },
  // What it reads of each token besides its log-probability, and what one value of it belongs to.
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  create: ({ most }) => ({
    // Builds a graph, which the engine differentiates by logprobs.
    build({ ops, scalar, logprobs, inputs }) {
      const ratio = ops.exp(ops.sub(logprobs, inputs.old_logprobs));
      const gain = ops.mul(ops.min(ratio, scalar(most)), inputs.advantages);
      return { loss: ops.neg(gain), metrics: { ratio } };
    },
  }),`,
  test: `
/** Numbers stand for the values of a graph: a loss sees operations alone. */
function lossOf(logprobs/*ts : number*/, inputs/*ts : { advantages: number; old_logprobs: number }*/) {
  const ops = {
    exp: Math.exp,
    min: Math.min,
    neg: (a/*ts : number*/) => -a,
    sub: (a/*ts : number*/, b/*ts : number*/) => a - b,
    mul: (a/*ts : number*/, b/*ts : number*/) => a * b,
  };
  const scalar = (value/*ts : number*/) => value;
  return component.create({ most: 2 }, {}).build({ ops, scalar, logprobs, inputs }/*ts  as never*/).loss;
}

test('is the advantage, upside down, where the policy is as it was', () => {
  assert.equal(lossOf(-1, { advantages: 0.5, old_logprobs: -1 }), -0.5);
});

test('follows the ratio up to its bound', () => {
  assert.equal(lossOf(Math.log(0.5), { advantages: 1, old_logprobs: 0 }), -0.5);
  assert.equal(lossOf(3, { advantages: 1, old_logprobs: 0 }), -2);
});`,
  choice: 'algorithm: { loss: { name: NAME, most: 3 } }',
};
