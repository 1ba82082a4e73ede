import { Graph, ops, Session, tensor, type Value } from '@ui-rl/graph';
import { adamw, AdamWOptions } from './adamw';

const options = Object.assign(new AdamWOptions(), { weight_decay: 0.01 });
const start = [1, -2, 0.5, 3];
const gradientOf = (step: number): Float32Array => Float32Array.of(0.3, -0.1 * step, 2, 1 - step);
const learningRate = 0.1;

function norm(gradient: Float32Array): number {
  return Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
}

interface Trained {
  weight: Float32Array;
  state: { exp_avg: Float32Array; exp_avg_sq: Float32Array };
}

function fresh(): Trained {
  return {
    weight: Float32Array.from(start),
    state: { exp_avg: new Float32Array(4), exp_avg_sq: new Float32Array(4) },
  };
}

/** A step with gradients clipped to norm 1. */
function take(trained: Trained, step: number): void {
  const gradient = gradientOf(step);
  const gradientScale = 1 / norm(gradient);
  adamw
    .create(options, {})
    .update({ name: 'w', shape: [4], gradient, ...trained }, { step, learningRate, gradientScale });
}

describe('adamw', () => {
  it('takes the steps that torch.optim.AdamW with clip_grad_norm_ takes', () => {
    // torch 2.13: AdamW(lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01), clip_grad_norm_(…, 1.0)
    const expected = [
      [0.8990000486, -1.8980000019, 0.3995000124, 2.99699998],
      [0.7984086871, -1.7990891933, 0.2994081676, 3.0674991608],
      [0.6991900206, -1.6998913288, 0.2006885111, 3.1476693153],
    ];
    const trained = fresh();
    expected.forEach((values, index) => {
      take(trained, index + 1);
      trained.weight.forEach((w, i) => expect(w).toBeCloseTo(values[i], 5));
    });
  });

  it('continues bit for bit from a saved state', () => {
    const whole = fresh();
    for (let step = 1; step <= 4; step++) take(whole, step);
    const resumed = fresh();
    for (let step = 1; step <= 2; step++) take(resumed, step);
    const { exp_avg, exp_avg_sq } = resumed.state;
    const copy = {
      weight: resumed.weight,
      state: { exp_avg: exp_avg.slice(), exp_avg_sq: exp_avg_sq.slice() },
    };
    for (let step = 3; step <= 4; step++) take(copy, step);
    expect(copy).toEqual(whole);
  });

  it('takes the same steps as a graph', async () => {
    const graph = new Graph('adamw');
    const read = (name: string): Value => graph.input(name, 'float32', [4]);
    const after = adamw.create(options, {}).build!(
      {
        name: 'w',
        weight: read('weight'),
        gradient: read('gradient'),
        state: { exp_avg: read('exp_avg'), exp_avg_sq: read('exp_avg_sq') },
      },
      { step: graph.input('step', 'float32', []), learningRate: graph.input('rate', 'float32', []) },
      { ops, scalar: (value) => ops.scalar(graph, value, 'float32') },
    );
    graph.output('next weight', after.weight);
    graph.output('next exp_avg', after.state.exp_avg);
    graph.output('next exp_avg_sq', after.state.exp_avg_sq);
    const session = await Session.create(graph, { device: 'cpu', threads: 1 });
    const expected = fresh();
    const found = fresh();
    for (let step = 1; step <= 4; step++) {
      const gradient = gradientOf(step);
      const clip = 1 / norm(gradient);
      const result = await session.run({
        weight: tensor('float32', found.weight, [4]),
        gradient: tensor(
          'float32',
          gradient.map((g) => g * clip),
          [4],
        ),
        exp_avg: tensor('float32', found.state.exp_avg, [4]),
        exp_avg_sq: tensor('float32', found.state.exp_avg_sq, [4]),
        step: tensor('float32', [step], []),
        rate: tensor('float32', [learningRate], []),
      });
      found.weight = result['next weight'].data as Float32Array;
      found.state = {
        exp_avg: result['next exp_avg'].data as Float32Array,
        exp_avg_sq: result['next exp_avg_sq'].data as Float32Array,
      };
      take(expected, step);
      found.weight.forEach((w, i) => expect(w).toBeCloseTo(expected.weight[i], 5));
      found.state.exp_avg_sq.forEach((v, i) => expect(v).toBeCloseTo(expected.state.exp_avg_sq[i], 6));
    }
    await session.release();
  });
});
