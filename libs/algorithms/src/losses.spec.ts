import { Graph, Session, gradients, tensor } from '@ui-rl/graph';
import { checkPolicyLoss, policyLoss, type PolicyLoss } from './index';

interface Tokens {
  logp: number[];
  oldLogp: number[];
  advantage: number[];
  weight: number[];
}

async function evaluate(loss: PolicyLoss, tokens: Tokens): Promise<{ loss: number; gradient: number[] }> {
  const graph = new Graph('loss');
  const names = ['logp', 'oldLogp', 'advantage', 'weight'] as const;
  const [logp, oldLogp, advantage, weight] = names.map((name) => graph.input(name, 'float32', ['M']));
  const value = policyLoss(loss, { logp, oldLogp, advantage, weight });
  graph.output('loss', value);
  graph.output('gradient', gradients(value, [logp])[0]);
  const session = await Session.create(graph, { device: 'cpu', threads: 1 });
  const feeds = Object.fromEntries(
    names.map((name) => [name, tensor('float32', Float32Array.from(tokens[name]), [tokens[name].length])]),
  );
  const result = await session.run(feeds);
  await session.release();
  return { loss: Number(result.loss.data[0]), gradient: Array.from(result.gradient.data as Float32Array) };
}

// Ratios: 1, e^0.5 = 1.6487, e^-0.5 = 0.6065, e^0.5, e^-0.5, e^2 = 7.389
const tokens: Tokens = {
  logp: [-1, -1, -1, -1, -1, -1],
  oldLogp: [-1, -1.5, -0.5, -1.5, -0.5, -3],
  advantage: [1, 1, 1, -1, -1, -2],
  weight: [1, 1, 1, 1, 1, 1],
};
const up = Math.exp(0.5);
const down = Math.exp(-0.5);
const far = Math.exp(2);

/** Value and derivative of each token's loss, worked by hand. */
const cases: [string, PolicyLoss, number[], number[]][] = [
  ['cross_entropy', { name: 'cross_entropy' }, [1, 1, 1, 1, 1, 1], [-1, -1, -1, -1, -1, -1]],
  [
    'importance_sampling',
    { name: 'importance_sampling' },
    [-1, -up, -down, up, down, 2 * far],
    [-1, -up, -down, up, down, 2 * far],
  ],
  ['ppo', { name: 'ppo' }, [-1, -1.2, -down, up, 0.8, 2 * far], [-1, 0, -down, up, 0, 2 * far]],
  [
    'ppo, clip-higher',
    { name: 'ppo', clipLow: 0.5, clipHigh: 0.28 },
    [-1, -1.28, -down, up, down, 2 * far],
    [-1, 0, -down, up, down, 2 * far],
  ],
  ['ppo, dual clip', { name: 'ppo', dualClip: 3 }, [-1, -1.2, -down, up, 0.8, 6], [-1, 0, -down, up, 0, 0]],
];

describe('policy losses', () => {
  it.each(cases)('%s has the value and the gradient worked by hand', async (_name, loss, values, slopes) => {
    for (let token = 0; token < values.length; token += 1) {
      const one: Tokens = {
        ...tokens,
        weight: tokens.weight.map((_, index) => (index === token ? 0.25 : 0)),
      };
      const result = await evaluate(loss, one);
      expect(result.loss).toBeCloseTo(0.25 * values[token], 4);
      const expected = slopes.map((slope, index) => (index === token ? 0.25 * slope : 0));
      result.gradient.forEach((found, index) => expect(found).toBeCloseTo(expected[index], 4));
    }
  });

  it.each(cases)('%s: the gradient agrees with finite differences', async (_name, loss) => {
    const random: Tokens = {
      logp: [-0.31, -1.7, -2.2, -0.9],
      oldLogp: [-0.4, -1.1, -2.3, -3.4],
      advantage: [0.7, -1.3, 0.2, -0.6],
      weight: [0.25, 0.5, 1, 2],
    };
    const { gradient } = await evaluate(loss, random);
    const step = 1e-2;
    for (let token = 0; token < 4; token += 1) {
      const moved = (by: number) =>
        evaluate(loss, { ...random, logp: random.logp.map((v, i) => (i === token ? v + by : v)) });
      const difference = ((await moved(step)).loss - (await moved(-step)).loss) / (2 * step);
      expect(Math.abs(gradient[token] - difference)).toBeLessThan(2e-3 * Math.max(1, Math.abs(difference)));
    }
  });

  it('refuse an option that the chosen loss would ignore', () => {
    expect(() => checkPolicyLoss({ name: 'importance_sampling', clipLow: 0.1 })).toThrow('clipLow');
    expect(() => checkPolicyLoss({ name: 'ppo', dualClip: 0.9 })).toThrow('dualClip is 0.9');
    expect(() => checkPolicyLoss({ name: 'reinforce' as never })).toThrow('loss "reinforce" is unknown');
  });
});
