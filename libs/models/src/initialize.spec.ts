import { join } from 'node:path';
import { loadFamily } from './folder';
import { initialPieces, initializeWeights, sinusoidalPositions } from './initialize';
import { tensorsDigest } from './weights/safetensors';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a/model');

function deviation(data: Float32Array): number {
  return Math.sqrt(data.reduce((sum, value) => sum + value * value, 0) / data.length);
}

test('new weights have the size their place asks for', async () => {
  const tensors = initializeWeights(await loadFamily(fixture), 1);
  const of = (name: string): Float32Array => tensors.get(name)!.data;
  const layer = 'model.language_model.layers.0';
  expect(deviation(of('model.language_model.embed_tokens.weight'))).toBeCloseTo(Math.sqrt(2 / (5 * 64)), 2);
  expect(deviation(of(`${layer}.mlp.up_proj.weight`))).toBeCloseTo(Math.sqrt(2 / (5 * 64)), 2);
  expect(deviation(of(`${layer}.mlp.down_proj.weight`))).toBeCloseTo(
    Math.sqrt(2 / (5 * 88)) / Math.sqrt(6),
    2,
  );
  expect(new Set(of(`${layer}.self_attn.q_norm.weight`))).toEqual(new Set([1]));
  expect(new Set(of('model.visual.blocks.0.attn.qkv.bias'))).toEqual(new Set([0]));
});

test('equal seeds give equal weights, another seed others', async () => {
  const family = await loadFamily(fixture);
  const digest = tensorsDigest(initializeWeights(family, 1));
  expect(tensorsDigest(initializeWeights(family, 1))).toBe(digest);
  expect(tensorsDigest(initializeWeights(family, 2))).not.toBe(digest);
});

test('weights to measure with repeat the numbers of their first piece', async () => {
  const family = await loadFamily(fixture);
  const spec = { name: 'large', shape: [600, 1000], initial: 'normal' as const };
  const [fresh, repeated] = [false, true].map((repeats) =>
    Array.from(initialPieces(family, spec, 1, repeats), (piece) => Buffer.from(piece.slice().buffer)),
  );
  expect(fresh.map(({ length }) => length)).toEqual(repeated.map(({ length }) => length));
  expect(repeated[0].equals(fresh[0])).toBe(true);
  expect(repeated[1].equals(repeated[0])).toBe(true);
  expect(fresh[1].equals(fresh[0])).toBe(false);
  const last = repeated.at(-1)!;
  expect(last.equals(repeated[0].subarray(0, last.length))).toBe(true);
});

test('sinusoidal positions: every place differs, a row shares its first half, a column its second', () => {
  const [side, width] = [5, 16];
  const table = sinusoidalPositions(side, width);
  const row = (place: number): string => table.subarray(place * width, (place + 1) * width).join();
  const half = (place: number, which: 0 | 1): string =>
    table.subarray(place * width + (which * width) / 2, place * width + ((which + 1) * width) / 2).join();
  expect(new Set(Array.from({ length: side * side }, (_, place) => row(place))).size).toBe(side * side);
  expect(half(5, 0)).toBe(half(9, 0));
  expect(half(1, 1)).toBe(half(21, 1));
  expect(() => sinusoidalPositions(2, 6)).toThrow(/divisible by 4/);
});
