import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Graph, ops, Session, tensor } from '@ui-rl/graph';
import { Parameters } from '../nn/parameters';
import { quantize, QUANTIZATION_BLOCK, type Quantization } from './quantize';
import { QuantizedWeights } from './quantized-weights';
import { writeSafetensors } from './safetensors';
import { WeightStore } from './store';
import { holdWeights } from './weight-type';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-quantized-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const shape: [number, number] = [5, 4 * QUANTIZATION_BLOCK];
const numbers = Float32Array.from(
  { length: shape[0] * shape[1] },
  (_, i) => Math.sin(i * 1.7) * (1 + (i % 7)),
);

async function store(dtype: 'F32' | 'BF16' = 'F32'): Promise<WeightStore> {
  await writeSafetensors(
    join(dir, 'model.safetensors'),
    new Map([
      ['w', { shape, data: numbers }],
      ['odd', { shape: [3, 5], data: new Float32Array(15).fill(2) }],
    ]),
    { dtype },
  );
  return WeightStore.open(dir);
}

const matrices = [
  { name: 'w', shape },
  { name: 'odd', shape: [3, 5] as [number, number] },
];

/** x · wᵀ for x with two rows. */
async function product(
  weights: WeightStore,
  quantized: QuantizedWeights,
  packed: boolean,
): Promise<number[]> {
  const graph = new Graph('product');
  const x = graph.input('x', 'float32', ['R', shape[1]]);
  graph.output('y', new Parameters({ weights, quantized, packed }).product(graph, x, 'w', shape));
  const session = await Session.create(graph, { threads: 1, disablePrepacking: !packed });
  const data = Float32Array.from({ length: 2 * shape[1] }, (_, i) => Math.cos(i));
  const { y } = await session.run({ x: tensor('float32', data, [2, shape[1]]) });
  await session.release();
  return [...(y.data as Float32Array)];
}

describe.each(['int4', 'int8'] as const)('%s', (kind: Quantization) => {
  it('is within half a step of every number', () => {
    const { codes, scales } = quantize(numbers, kind);
    numbers.forEach((number, i) => {
      const scale = scales[Math.floor(i / QUANTIZATION_BLOCK)];
      const code =
        kind === 'int4' ? ((codes[i >> 1] >> (4 * (i % 2))) & 15) - 8 : new Int8Array(codes.buffer)[i];
      // int4 lacks the last code on one side, where the error may be a whole step.
      expect(Math.abs(code * scale - number)).toBeLessThanOrEqual(
        Math.abs(scale) * (kind === 'int4' ? 1.001 : 0.501),
      );
    });
    expect(quantize(new Float32Array(QUANTIZATION_BLOCK), kind).scales[0]).toBeCloseTo(0);
  });

  it('is multiplied the same way packed, converted, and in plain code; and made only once', async () => {
    const weights = await store();
    const progress: number[] = [];
    const quantized = await QuantizedWeights.open(weights, matrices, kind, dir, (share) =>
      progress.push(share),
    );
    expect(progress.length).toBe(1);
    const { codes, scales } = quantize(numbers, kind);
    const signed = new Int8Array(codes.buffer);
    const value = (i: number): number =>
      (kind === 'int4' ? ((codes[i >> 1] >> (4 * (i % 2))) & 15) - 8 : signed[i]) *
      scales[Math.floor(i / QUANTIZATION_BLOCK)];
    const [rows, columns] = shape;
    const expected = [0, 1].flatMap((r) =>
      Array.from({ length: rows }, (_, n) => {
        let sum = 0;
        for (let k = 0; k < columns; k += 1) sum += Math.cos(r * columns + k) * value(n * columns + k);
        return sum;
      }),
    );
    for (const packed of [false, true]) {
      const found = await product(weights, quantized, packed);
      found.forEach((y, i) => expect(Math.abs(y - expected[i])).toBeLessThan(1e-4));
    }
    await QuantizedWeights.open(weights, matrices, kind, dir, () => {
      throw new Error('made again');
    });
    expect(quantized.get('odd')).toBeUndefined();
  });
});

it('says which file is damaged', async () => {
  const weights = await store();
  await QuantizedWeights.open(weights, matrices, 'int4', dir);
  const [file] = readdirSync(join(dir, 'quantized'));
  truncateSync(join(dir, 'quantized', file), 100);
  await expect(QuantizedWeights.open(weights, matrices, 'int4', dir)).rejects.toThrow(
    new RegExp(`${file}: holds 100 bytes, expected \\d+; remove it`),
  );
});

it('holds weights in another type as a copy that is made once', async () => {
  const source = await store();
  const parameters = matrices.map((each) => ({ ...each, initial: 'normal' as const }));
  const brain = await holdWeights(source, parameters, 'bf16', dir);
  expect(brain.constant('w')).toMatchObject({ dtype: 'bfloat16' });
  const found = await brain.read('w', shape);
  numbers.forEach((number, i) =>
    expect(Math.abs(found[i] - number)).toBeLessThanOrEqual(Math.abs(number) / 256),
  );
  const [file] = readdirSync(join(dir, 'converted'));
  const { mtimeMs } = statSync(join(dir, 'converted', file));
  await holdWeights(source, parameters, 'bf16', dir);
  expect(statSync(join(dir, 'converted', file)).mtimeMs).toBe(mtimeMs);
});

it('converts weights of small types within the graph, without a separate copy', async () => {
  const weights = await store('BF16');
  expect(weights.constant('w')).toMatchObject({
    dtype: 'bfloat16',
    external: { length: 2 * numbers.length },
  });
  const graph = new Graph('cast');
  const parameters = new Parameters({ weights });
  graph.output('y', ops.mul(parameters.get(graph, 'w', shape), 1));
  const session = await Session.create(graph, { threads: 1 });
  expect(session.inputNames).toEqual([]);
  const { y } = await session.run({});
  await session.release();
  expect(y.data).toEqual(await weights.read('w', shape));
});

it('removes what a process that was killed has left of the same copy, and nothing that is still written', async () => {
  const weights = await store();
  await QuantizedWeights.open(weights, matrices, 'int4', dir);
  const folder = join(dir, 'quantized');
  const [name] = readdirSync(folder);
  rmSync(join(folder, name));
  const [left, written, other] = [
    `${name}.left.writing`,
    `${name}.written.writing`,
    'other.int4.left.writing',
  ];
  for (const each of [left, written, other]) writeFileSync(join(folder, each), 'half');
  const twoHoursAgo = Date.now() / 1000 - 7200;
  for (const each of [left, other]) utimesSync(join(folder, each), twoHoursAgo, twoHoursAgo);
  await QuantizedWeights.open(weights, matrices, 'int4', dir);
  expect(readdirSync(folder).toSorted()).toEqual([name, written, other].toSorted());
});
