import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeSafetensors, type FloatDtype, type FloatTensor } from './safetensors';
import { transposeEach, WeightStore } from './store';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-stack-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Two matrices [2, 3]. */
const shape = [2, 2, 3] as const;
const stack: FloatTensor = { shape: [...shape], data: Float32Array.from({ length: 12 }, (_, i) => i) };
const stored: FloatTensor = {
  shape: [2, 3, 2],
  data: Float32Array.of(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11),
};

async function storeOf(tensor: FloatTensor, dtype: FloatDtype = 'F32'): Promise<WeightStore> {
  const file = join(dir, 'x.safetensors');
  const other = { shape: [3], data: Float32Array.of(1, 2, 3) };
  await writeSafetensors(file, new Map([['experts', tensor]]).set('a', other), { dtype });
  return WeightStore.openFile(file);
}

test('each matrix is transposed', () => {
  expect(transposeEach(stack.data, stack.shape)).toEqual(stored.data);
});

test('a stack is read the same in both layouts', async () => {
  for (const tensor of [stack, stored]) {
    const weights = await storeOf(tensor);
    expect(() => weights.check([{ name: 'experts', shape }])).not.toThrow();
    expect(await weights.read('experts', shape)).toEqual(stack.data);
  }
});

test.each<[string, FloatTensor, boolean]>([
  ['as the model has it', stack, false],
  ['transposed', stored, true],
])('the matrices of a stack that lies %s are parts of its file', async (_, tensor, transposed) => {
  const weights = await storeOf(tensor);
  const { path, offset } = externalOf(weights.constant('experts'));
  const found = weights.stack('experts', shape);
  expect(found.transposed).toBe(transposed);
  expect(found.slices.map(externalOf)).toEqual([
    { path, offset, length: 24 },
    { path, offset: offset + 24, length: 24 },
  ]);
});

function externalOf(data: object): { path: string; offset: number; length: number } {
  return (data as { external: { path: string; offset: number; length: number } }).external;
}

test('matrices of two-byte numbers are parts of their file, or of what is held in memory', async () => {
  const weights = await storeOf(stored, 'BF16');
  const mapped = weights.stack('experts', shape).slices;
  expect(mapped.map((part) => [part.dtype, externalOf(part).length])).toEqual([
    ['bfloat16', 12],
    ['bfloat16', 12],
  ]);
  await weights.holdAsFloat32();
  const { slices, transposed } = weights.stack('experts', shape);
  expect(transposed).toBe(true);
  expect(slices[1]).toEqual({ dtype: 'float32', data: stored.data.subarray(6) });
  expect(await weights.read('experts', shape)).toEqual(stack.data);
});

test('square matrices count as they lie', async () => {
  const square = { shape: [1, 2, 2], data: Float32Array.of(1, 2, 3, 4) };
  const weights = await storeOf(square);
  expect(weights.stack('experts', [1, 2, 2]).transposed).toBe(false);
  expect(await weights.read('experts', [1, 2, 2])).toEqual(square.data);
});

test('another shape is refused by name', async () => {
  const weights = await storeOf(stack);
  const message = /x\.safetensors: tensor "experts" has shape \[2, 2, 3\], config\.json asks for \[2, 4, 3\]/;
  expect(() => weights.stack('experts', [2, 4, 3])).toThrow(message);
  expect(() => weights.check([{ name: 'experts', shape: [3, 2] }])).toThrow(/asks for \[3, 2\]/);
});

test('weights of which only shapes are known are constants for graphs that never run', () => {
  const weights = WeightStore.ofShapes([{ name: 'experts', shape }]);
  expect(() => weights.check([{ name: 'experts', shape }])).not.toThrow();
  const { slices, transposed } = weights.stack('experts', shape);
  expect([transposed, slices.map((part) => externalOf(part).length)]).toEqual([false, [24, 24]]);
});
