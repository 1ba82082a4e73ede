import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tensorsDigest } from './safetensors';
import { writeSharded, type StreamedTensor } from './sharded';
import { WeightStore } from './store';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-sharded-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A tensor in pieces of the given length. */
function counting(
  name: string,
  length: number,
  pieceLength: number,
): StreamedTensor & { data: Float32Array } {
  const data = Float32Array.from({ length }, (_, index) => index / 8);
  function* pieces(): Generator<Float32Array> {
    for (let at = 0; at < length; at += pieceLength) yield data.subarray(at, at + pieceLength);
  }
  return { name, shape: [length], pieces, data };
}

const options = { dtype: 'F32', maxShardBytes: 400 } as const;

test('files hold as many tensors as fit, a larger one has a separate file', async () => {
  const tensors = [counting('a', 60, 7), counting('b', 30, 30), counting('c', 30, 1), counting('d', 500, 64)];
  const files = await writeSharded(dir, tensors, options);
  expect(files).toEqual([
    'model-00001-of-00003.safetensors',
    'model-00002-of-00003.safetensors',
    'model-00003-of-00003.safetensors',
    'model.safetensors.index.json',
  ]);
  const store = await WeightStore.open(dir);
  expect(store.names().map((name) => store.entry(name).file.slice(-'1-of-00003.safetensors'.length))).toEqual(
    ['1-of-00003.safetensors', '1-of-00003.safetensors', '2-of-00003.safetensors', '3-of-00003.safetensors'],
  );
  for (const { name, data } of tensors) expect(await store.read(name)).toEqual(data);
});

test('one file is the same as writeSafetensors writes', async () => {
  const tensor = counting('a', 3_000_000, 4_099);
  expect(await writeSharded(dir, [tensor], { ...options, maxShardBytes: 1e9 })).toEqual([
    'model.safetensors',
  ]);
  const whole = new Map([['a', { shape: [3_000_000], data: tensor.data }]]);
  const sha256 = createHash('sha256')
    .update(readFileSync(join(dir, 'model.safetensors')))
    .digest('hex');
  expect(sha256).toBe(tensorsDigest(whole));
});

test('a tensor that gives too few numbers leaves nothing behind', async () => {
  const short = { ...counting('b', 10, 5), shape: [12] };
  const failed = writeSharded(dir, [counting('a', 90, 90), short], options);
  await expect(failed).rejects.toThrow(/tensor "b": 8 bytes too few/);
  expect(readdirSync(dir)).toEqual([]);
});

test('a file that is there already is not overwritten', async () => {
  writeFileSync(join(dir, 'model.safetensors'), 'mine');
  await expect(writeSharded(dir, [counting('a', 5, 5)], options)).rejects.toThrow(/EEXIST/);
  expect(readFileSync(join(dir, 'model.safetensors'), 'utf8')).toBe('mine');
});
