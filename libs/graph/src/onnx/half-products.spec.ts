import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gradients, Graph, ops, Session, tensor, type Value } from '../index';
import { float16Bits } from '../dtype';
import { DeviceWeights } from '../device-weights';
import { sharedConstants } from '../common-constants';
import { halfProducts } from './half-products';
import { lower } from './lower';
import { toOnnx } from './serialize';

const [ROWS, IN, OUT] = [3, 64, 5];
const weights = Float32Array.from({ length: OUT * IN }, (_, i) => Math.sin(i));
const file = join(mkdtempSync(join(tmpdir(), 'half-')), 'weights');
writeFileSync(file, Uint16Array.from(weights, float16Bits));
afterAll(() => rmSync(join(file, '..'), { recursive: true }));

const unused = {
  upload: () => Promise.resolve({}),
  download: () => Promise.resolve({}),
  release: () => Promise.resolve(),
};

/** Rows far beyond float16's range, below it, and of zeros. */
const rows = Float32Array.from(
  { length: ROWS * IN },
  (_, i) => [1e9, 1e-12, 0][Math.floor(i / IN)] * Math.cos(i),
);

function parameterOf(graph: Graph): Value {
  const external = { path: file, offset: 0, length: 2 * OUT * IN };
  return graph.parameter('w', { dtype: 'float16', shape: [OUT, IN], external });
}

/** y = x · wᵀ and its derivative by x, with w converted as in a model. */
function build(): Graph {
  const graph = new Graph('product');
  const x = graph.input('x', 'float32', ['R', IN]);
  const y = ops.linear(x, ops.cast(parameterOf(graph), 'float32'));
  graph.output('y', y);
  graph.output('dx', gradients(ops.reduceSum(ops.mul(y, y)), [x])[0]);
  return graph;
}

async function run(graph: Graph): Promise<Record<'y' | 'dx', Float32Array>> {
  const session = await Session.create(graph, { threads: 1 });
  const { y, dx } = await session.run({ x: tensor('float32', rows, [ROWS, IN]) });
  await session.release();
  return { y: y.data as Float32Array, dx: dx.data as Float32Array };
}

/** Largest difference within a row, relative to the row's largest number. */
function gap(found: Float32Array, expected: Float32Array, row: number): number {
  const width = expected.length / ROWS;
  const part = (all: Float32Array): Float32Array => all.subarray(row * width, (row + 1) * width);
  const largest = Math.max(...part(expected).map(Math.abs));
  return (
    Math.max(...part(found).map((value, i) => Math.abs(value - part(expected)[i]))) / Math.max(largest, 1e-30)
  );
}

it('multiplies in float16 without leaving its range, forward and backward', async () => {
  const expected = await run(build());
  const found = await run(lower(build(), halfProducts));
  for (const name of ['y', 'dx'] as const) {
    expect([...found[name]].every(Number.isFinite)).toBe(true);
    for (const row of [0, 1, 2]) expect(gap(found[name], expected[name], row)).toBeLessThan(5e-3);
  }
});

it('leaves no product with a float32 copy of the weight', () => {
  const graph = lower(build(), halfProducts);
  const products = graph.nodes.filter(({ opType }) => opType === 'Gemm');
  expect(products.map(({ inputs }) => inputs.map((input) => input?.dtype))).toEqual([
    ['float16', 'float16'],
    ['float16', 'float16'],
  ]);
});

it('leaves products alone whose weight is computed in float32', () => {
  const graph = new Graph('plain');
  const x = graph.input('x', 'float32', ['R', IN]);
  graph.output('y', ops.linear(x, graph.input('w', 'float32', [OUT, IN])));
  expect(lower(graph, halfProducts).nodes.map(({ opType }) => opType)).toEqual(
    graph.nodes.map(({ opType }) => opType),
  );
});

describe('weights that sessions share', () => {
  it('are those in files, but for what kernels prepare', () => {
    const graph = new Graph('shared');
    const w = parameterOf(graph);
    const codes = { path: file, offset: 0, length: 64 };
    const quantized = graph.parameter('codes', { dtype: 'uint8', shape: [2, 32], external: codes });
    const scales = { path: file, offset: 0, length: 8 };
    const scale = graph.parameter('scales', { dtype: 'float32', shape: [2, 1], external: scales });
    graph.output('a', ops.cast(w, 'float32'));
    graph.output('b', ops.dequantize(quantized, scale, undefined, 32));
    expect(sharedConstants(graph)).toEqual([w]);
  });

  it('are written as inputs, and read from their file once', async () => {
    const graph = build();
    const shared = sharedConstants(graph);
    const bytes = toOnnx(graph, () => 'nowhere', new Set(shared));
    expect(Buffer.from(bytes).includes('nowhere')).toBe(false);
    const session = await Session.create(bytes, { threads: 1 });
    expect(session.inputNames).toEqual(['x', 'w']);
    const uploaded: string[] = [];
    const store = new DeviceWeights({
      location: 'cpu',
      upload: async (tensors) => {
        uploaded.push(...Object.keys(tensors));
        return { ...tensors };
      },
      download: async (tensors) => ({ ...tensors }),
      release: async () => undefined,
    });
    const [w, again] = await Promise.all([store.get(shared[0].constant!), store.get(shared[0].constant!)]);
    expect(again).toBe(w);
    expect(uploaded).toEqual(['copy']);
    const x = tensor('float32', rows, [ROWS, IN]);
    const { y } = await session.run({ x, w });
    expect(y.data).toEqual((await run(graph)).y);
    await session.release();
    await store.release();
  });

  it('are refused where they are not in a file', () => {
    const memory = { location: 'cpu' as const, ...unused };
    expect(() =>
      new DeviceWeights(memory).get({ dtype: 'float32', shape: [1], data: new Float32Array(1) }),
    ).toThrow(/a constant of float32 \[1\] cannot be shared/);
  });
});
