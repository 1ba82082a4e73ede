import { Graph, gradients, ops, Session, tensor, type Tensor } from '@ui-rl/graph';
import { chunkedDelta, DELTA_CHUNK, type DeltaInputs } from './gated-delta';
import { unitLowerInverse } from './unit-lower-inverse';

const [B, keyHeads, heads, dk, dv] = [2, 2, 4, 6, 5];

/** Values of one input, in double precision. */
interface Numbers {
  shape: number[];
  data: Float64Array;
}

type Inputs = Record<keyof DeltaInputs, Numbers>;

function wave(shape: number[], seed: number, map = (x: number): number => x): Numbers {
  const count = shape.reduce((a, b) => a * b, 1);
  return {
    shape,
    data: Float64Array.from({ length: count }, (_, i) => map(Math.sin(seed + i * 1.37 + (i * i) / 997))),
  };
}

/** Rows of d numbers, normalized to `length`. */
function scaled({ shape, data }: Numbers, length: number): Numbers {
  const d = shape.at(-1)!;
  const norms = Float64Array.from({ length: data.length / d }, (_, row) =>
    Math.hypot(...data.subarray(row * d, (row + 1) * d)),
  );
  return { shape, data: data.map((x, i) => (length * x) / norms[Math.floor(i / d)]) };
}

/** Inputs of T tokens; `same`: all keys are equal and nothing decays, as for a screen of one colour. */
function inputsOf(T: number, same = false): Inputs {
  const key = scaled(wave([B, T, keyHeads, dk], 2), 1);
  return {
    q: scaled(wave([B, T, keyHeads, dk], 1), dk ** -0.5),
    k: same ? { ...key, data: key.data.map((_, i) => key.data[i % dk]) } : key,
    v: wave([B, T, heads, dv], 3),
    decay: wave([B, T, heads], 4, (x) => (same ? 0 : -Math.exp(2 * x))),
    beta: wave([B, T, heads], 5, (x) => (same ? 1 : (1 + x) / 2)),
  };
}

/** Sequences that continue the same first tokens of row 0; row 1 is one sequence. */
interface Shared {
  tokens: number;
  /** first tokens of the sequences */
  starts: number[];
}

/** The rule, token by token. */
function recurrent({ q, k, v, decay, beta }: Inputs, shared?: Shared): Float64Array {
  const T = v.shape[1];
  const out = new Float64Array(B * T * heads * dv);
  for (let b = 0; b < B; b++) {
    for (let h = 0; h < heads; h++) {
      const state = new Float64Array(dk * dv);
      let afterShared = state;
      for (let t = 0; t < T; t++) {
        if (b === 0 && t === shared?.tokens) afterShared = state.slice();
        if (b === 0 && shared?.starts.includes(t) === true) state.set(afterShared);
        const at = b * T + t;
        const key = at * keyHeads + Math.floor(h / (heads / keyHeads));
        const left = Math.exp(decay.data[at * heads + h]);
        for (let i = 0; i < dk * dv; i++) state[i] *= left;
        for (let j = 0; j < dv; j++) {
          let known = 0;
          for (let i = 0; i < dk; i++) known += state[i * dv + j] * k.data[key * dk + i];
          const change = beta.data[at * heads + h] * (v.data[(at * heads + h) * dv + j] - known);
          for (let i = 0; i < dk; i++) state[i * dv + j] += k.data[key * dk + i] * change;
          for (let i = 0; i < dk; i++)
            out[(at * heads + h) * dv + j] += state[i * dv + j] * q.data[key * dk + i];
        }
      }
    }
  }
  return out;
}

const NAMES = ['q', 'k', 'v', 'decay', 'beta'] as const;

function feedsOf(inputs: Inputs): Record<string, Tensor> {
  return Object.fromEntries(
    NAMES.map((name) => [name, tensor('float32', Float32Array.from(inputs[name].data), inputs[name].shape)]),
  );
}

/** Outputs of the chunked form, and the gradients of Σ outputs · weights. */
async function chunked(
  inputs: Inputs,
  weights: Float64Array,
  shared?: Shared,
): Promise<Record<string, Float32Array>> {
  const graph = new Graph('delta');
  const values = NAMES.map((name) => {
    const [, , ...rest] = inputs[name].shape;
    return graph.input(name, 'float32', ['B', '32*N', ...rest]);
  });
  const factors = graph.input('weights', 'float32', ['B', '32*N', heads, dv]);
  const [q, k, v, decay, beta] = values;
  const chunks = inputs.v.shape[1] / DELTA_CHUNK;
  /** Marks chunks of row 0. */
  const marked = (places: number[]) => {
    const marks = Uint8Array.from({ length: B * chunks }, (_, i) => Number(places.includes(i)));
    const known = graph.constant('int64', [B, chunks], BigInt64Array.from(marks, BigInt));
    return ops.cast(ops.assumeShape(known, ['B', 'N']), 'bool');
  };
  const start = shared && {
    continues: marked(shared.starts.map((token) => token / DELTA_CHUNK)),
    ends: marked([shared.tokens / DELTA_CHUNK - 1]),
  };
  const answers = chunkedDelta({ q, k, v, decay, beta }, start);
  graph.output('answers', answers);
  const grads = gradients(ops.reduceSum(ops.mul(answers, factors)), values);
  grads.forEach((grad, i) => graph.output(`d_${NAMES[i]}`, grad));
  const session = await Session.create(graph, { threads: 2, spinning: false });
  const shape = inputs.v.shape;
  const found = await session.run({
    ...feedsOf(inputs),
    weights: tensor('float32', Float32Array.from(weights), shape),
  });
  await session.release();
  return Object.fromEntries(Object.entries(found).map(([name, { data }]) => [name, data as Float32Array]));
}

function gap(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < expected.length; i++) most = Math.max(most, Math.abs(found[i] - expected[i]));
  expect(found).toHaveLength(expected.length);
  return most;
}

describe.each<[tokens: number, same: boolean, shared?: Shared]>([
  [64, false],
  [192, false],
  [192, true],
  [256, false, { tokens: 64, starts: [64, 96, 192] }],
])('the gated delta rule over %s tokens, all keys equal: %s, shared: %j', (T, same, shared) => {
  const inputs = inputsOf(T, same);
  const weights = wave(inputs.v.shape, 6).data;
  let found: Record<string, Float32Array>;
  beforeAll(async () => {
    found = await chunked(inputs, weights, shared);
  });

  test('in chunks gives what it gives token by token', () => {
    expect(gap(found.answers, recurrent(inputs, shared))).toBeLessThan(2e-5);
  });

  test.each(NAMES)('the derivative by %s is that of finite differences', (name) => {
    const step = 1e-5;
    const { data } = inputs[name];
    // Spread over all tokens and heads, plus the last ones.
    const places = [...Array.from({ length: 24 }, (_, i) => (i * 61) % data.length), data.length - 1];
    for (const place of places) {
      const [plus, minus] = [step, -step].map((change) => {
        const moved = {
          ...inputs,
          [name]: { ...inputs[name], data: data.with(place, data[place] + change) },
        };
        return recurrent(moved, shared).reduce((sum, x, i) => sum + x * weights[i], 0);
      });
      const expected = (plus - minus) / (2 * step);
      const error = Math.abs(found[`d_${name}`][place] - expected) / (1 + Math.abs(expected));
      expect([place, error < 1e-3]).toEqual([place, true]);
    }
  });
});

test('the inverse of a unit lower triangular matrix, also where powers of the matrix are huge', async () => {
  const size = 64;
  const graph = new Graph('inverse');
  const lower = graph.input('lower', 'float32', ['n', size, size]);
  graph.output('inverse', unitLowerInverse(lower, size));
  const session = await Session.create(graph, { threads: 1 });
  // Ones below the diagonal: the inverse is 1 on the diagonal and -1 below it, while powers of the matrix reach
  // 10^18.
  const ones = Float32Array.from({ length: size * size }, (_, at) =>
    Number(at % size < Math.floor(at / size)),
  );
  const { inverse } = await session.run({ lower: tensor('float32', ones, [1, size, size]) });
  await session.release();
  const expected = ones.map((_, at) => {
    const below = Math.floor(at / size) - (at % size);
    return below === 0 ? 1 : below === 1 ? -1 : 0;
  });
  expect(gap(inverse.data as Float32Array, expected)).toBe(0);
});
