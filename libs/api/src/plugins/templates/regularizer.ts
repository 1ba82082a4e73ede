import type { Template } from '../template';

export const regularizer: Template = {
  type: 'RegularizerComponent',
  options: 'coef: number;\n  floor: number;',
  description: 'A cost where the policy is less curious than a bound.',
  members: `
  options: {
    coef: { type: 'number', default: 0.01, above: 0, description: 'how much it counts' },
    floor: { type: 'number', default: 0.5, above: 0, description: 'entropy in nats below which it costs' },
  },
  inputs: [],
  create: ({ coef, floor }) => ({
    // One value per token; the engine adds it to the loss.
    build({ ops, scalar, entropy }) {
      const lacking = ops.max(ops.sub(scalar(floor), entropy()), 0);
      return { loss: ops.mul(lacking, scalar(coef)), metrics: { lacking } };
    },
  }),`,
  test: `
/** Numbers stand for the values of a graph: a regularizer sees operations alone. */
function costOf(entropy/*ts : number*/) {
  const ops = {
    max: Math.max,
    sub: (a/*ts : number*/, b/*ts : number*/) => a - b,
    mul: (a/*ts : number*/, b/*ts : number*/) => a * b,
  };
  const terms = { ops, scalar: (value/*ts : number*/) => value, entropy: () => entropy };
  return component.create({ coef: 2, floor: 0.5 }, {}).build(terms/*ts  as never*/).loss;
}

test('costs what is lacking, and nothing above', () => {
  assert.equal(costOf(0.25), 0.5);
  assert.equal(costOf(0.5), 0);
  assert.equal(costOf(2), 0);
});`,
  choice: 'algorithm: { regularizers: [{ name: NAME, coef: 0.01 }] }',
};
