import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Graph, Session, tensor, type Tensor } from '@ui-rl/graph';
import { normals } from '@ui-rl/random';
import { planLora } from '../../lora/plan';
import { LayerBuilder } from '../../nn/layer-builder';
import { Parameters } from '../../nn/parameters';
import { writeSafetensors, type FloatDtype, type FloatTensor } from '../../weights/safetensors';
import { QUANTIZATION_BLOCK, quantize, type Quantization } from '../../weights/quantize';
import { matricesOf, QuantizedWeights } from '../../weights/quantized-weights';
import { transposeEach, WeightStore } from '../../weights/store';
import { mixtureLinears, mixtureOfExperts, type MixtureConfig } from './mixture';

const hidden = 96;
const config: MixtureConfig = {
  layers: new Set([0]),
  experts: 9,
  expertsPerToken: 3,
  expertSize: 32,
  normalized: true,
};
const linears = mixtureLinears(config, hidden, 'mlp');

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-mixture-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

async function storeOf(dtype: FloatDtype): Promise<WeightStore> {
  const tensors = new Map<string, FloatTensor>();
  linears.forEach(({ name, outFeatures, inFeatures, stack }, i) => {
    const shape = stack === undefined ? [outFeatures, inFeatures] : [stack.count, outFeatures, inFeatures];
    const data = normals(
      shape.reduce((a, b) => a * b, 1),
      0.5,
      i,
    );
    tensors.set(stack === undefined ? `${name}.weight` : name, { shape, data });
  });
  const file = join(dir, `${dtype}.safetensors`);
  await writeSafetensors(file, tensors, { dtype });
  return WeightStore.openFile(file);
}

interface Way {
  targets?: string | undefined;
  fewRows: boolean;
  quantized?: QuantizedWeights;
  packed?: boolean;
}

/** The network over random rows, with a random adapter. */
async function compute(
  weights: WeightStore,
  rows: number,
  { targets, fewRows, quantized, packed = false }: Way,
): Promise<Float32Array> {
  const family = { name: 'mixture', linears: () => linears };
  const lora =
    targets === undefined ? undefined : planLora(family, { rank: 2, alpha: 3, targets, dropout: 0 });
  const parameters = new Parameters({ weights, lora, quantized, packed });
  const graph = new Graph('mixture');
  const x = graph.input('x', 'float32', ['R', hidden]);
  graph.output('y', mixtureOfExperts(new LayerBuilder(graph, parameters, { fewRows }), config, x, 'mlp'));
  const session = await Session.create(graph, { threads: 1, disablePrepacking: !packed });
  const feeds: Record<string, Tensor> = {
    x: tensor('float32', normals(rows * hidden, 1, 99), [rows, hidden]),
  };
  [...parameters.inputs].forEach(([name, { shape }], i) => {
    const [a, b] = shape as [number, number];
    feeds[name] = tensor('float32', normals(a * b, 0.4, 50 + i), [a, b]);
  });
  const { y } = await session.run(feeds);
  await session.release();
  return y.data as Float32Array;
}

function difference(a: Float32Array, b: Float32Array): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

test.each<[FloatDtype, string | undefined]>([
  ['BF16', undefined],
  ['BF16', 'experts'],
  ['F16', 'router'],
])(
  '%s experts with an adapter on %s: reading those that have rows gives what all of them give',
  async (dtype, targets) => {
    const weights = await storeOf(dtype);
    for (const rows of [1, 2, 40]) {
      const all = await compute(weights, rows, { targets, fewRows: false });
      expect(difference(await compute(weights, rows, { targets, fewRows: true }), all)).toBeLessThan(
        1e-5 * Math.max(...all.map(Math.abs)),
      );
    }
  },
);

test('each row is computed by itself: neighbours do not matter', async () => {
  const weights = await storeOf('F32');
  const [many, one] = [40, 1];
  const all = await compute(weights, many, { targets: 'experts', fewRows: false });
  const alone = await compute(weights, one, { targets: 'experts', fewRows: false });
  expect(difference(all.subarray(0, hidden), alone)).toBeLessThan(1e-5 * Math.max(...alone.map(Math.abs)));
});

/** The experts' weights, rounded by quantization. */
function rounded(numbers: Float32Array, kind: Quantization): Float32Array {
  const { codes, scales } = quantize(numbers, kind);
  const signed = new Int8Array(codes.buffer);
  return numbers.map((_, i) => {
    const code = kind === 'int4' ? ((codes[i >> 1] >> (4 * (i % 2))) & 15) - 8 : signed[i];
    return code * scales[Math.floor(i / QUANTIZATION_BLOCK)];
  });
}

describe.each(['int4', 'int8'] as const)('experts in %s', (kind) => {
  const expertsOf = linears.filter(({ stack }) => stack !== undefined);

  /** The same network with pre-rounded weights, and with experts that are quantized on opening. */
  async function both(dtype: FloatDtype, transposed: boolean) {
    const weights = await storeOf(dtype);
    const plain = new Map<string, FloatTensor>();
    const files = new Map<string, FloatTensor>();
    for (const { name, outFeatures, inFeatures, stack } of linears) {
      const shape = stack === undefined ? [outFeatures, inFeatures] : [stack.count, outFeatures, inFeatures];
      const full = stack === undefined ? `${name}.weight` : name;
      const data = await weights.read(full, shape);
      plain.set(full, { shape, data: stack === undefined ? data : rounded(data, kind) });
      const turned = stack !== undefined && transposed;
      const stored = turned ? [shape[0], shape[2], shape[1]] : shape;
      files.set(full, { shape: stored, data: turned ? transposeEach(data, shape) : data });
    }
    const file = join(dir, `${kind}-${dtype}-${transposed}.safetensors`);
    await writeSafetensors(file, files, { dtype });
    const source = await WeightStore.openFile(file);
    const matrices = expertsOf.flatMap(({ name, outFeatures, inFeatures, stack }) =>
      matricesOf(name, [stack!.count, outFeatures, inFeatures]),
    );
    const quantized = await QuantizedWeights.open(source, matrices, kind, dir);
    return { source, quantized, expected: WeightStore.fromTensors(plain) };
  }

  test.each<[FloatDtype, boolean, string | undefined]>([
    ['F32', false, undefined],
    ['BF16', true, 'experts'],
  ])('from %s (transposed: %s), adapter on %s', async (dtype, transposed, targets) => {
    const { source, quantized, expected } = await both(dtype, transposed);
    for (const rows of [1, 3, 40]) {
      const expectedValues = await compute(expected, rows, { targets, fewRows: false });
      for (const packed of [false, true]) {
        for (const fewRows of [false, true]) {
          const found = await compute(source, rows, { targets, fewRows, quantized, packed });
          expect(difference(found, expectedValues)).toBeLessThan(
            2e-5 * Math.max(...expectedValues.map(Math.abs)),
          );
        }
      }
    }
  });
});
