import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert as assertProperty, float, property } from 'fast-check';
import { ModelError } from '../errors';
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './half';
import {
  readSafetensors,
  readSafetensorsHeader,
  tensorsDigest,
  writeSafetensors,
  type FloatTensor,
} from './safetensors';
import { WeightStore } from './store';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-safetensors-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const tensors = new Map<string, FloatTensor>([
  ['b.weight', { shape: [2, 3], data: Float32Array.of(1, -2, 3.5, 0, 1e-3, -0.25) }],
  ['a.bias', { shape: [2], data: Float32Array.of(7, 8) }],
]);

function rawFile(header: unknown, data = new Uint8Array(8)): string {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const file = join(dir, 'raw.safetensors');
  writeFileSync(file, Buffer.concat([length, json, data]));
  return file;
}

async function failure(promise: Promise<unknown>): Promise<ModelError> {
  const error = await promise.then(
    () => undefined,
    (found: unknown) => found,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

test("reads back a written file, and its digest is the file's sha256", async () => {
  const file = join(dir, 'x.safetensors');
  await writeSafetensors(file, tensors);
  const found = await readSafetensors(file);
  expect([...found.keys()]).toEqual(['a.bias', 'b.weight']);
  expect(found.get('b.weight')).toEqual(tensors.get('b.weight'));
  expect(tensorsDigest(tensors)).toBe(createHash('sha256').update(readFileSync(file)).digest('hex'));
});

test('the order of tensors does not change the digest, their numbers do', () => {
  expect(tensorsDigest(new Map([...tensors].toReversed()))).toBe(tensorsDigest(tensors));
  const other = new Map(tensors).set('a.bias', { shape: [2], data: Float32Array.of(7, 8.000001) });
  expect(tensorsDigest(other)).not.toBe(tensorsDigest(tensors));
});

test.each(['BF16', 'F16'] as const)('%s files are read as the nearest float32 numbers', async (dtype) => {
  const file = join(dir, 'x.safetensors');
  await writeSafetensors(file, tensors, { dtype });
  const found = (await readSafetensors(file)).get('b.weight')!.data;
  const step = dtype === 'BF16' ? 2 ** -8 : 2 ** -11;
  tensors.get('b.weight')!.data.forEach((value, i) => {
    expect(Math.abs(found[i] - value)).toBeLessThanOrEqual(Math.abs(value) * step);
  });
});

test('half precision: every bit pattern survives the way to float32 and back', () => {
  const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
  const isNan = (bits: number): boolean => (bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0;
  const back = toFloat16(fromFloat16(all));
  expect(all.filter((bits) => !isNan(bits) && back[bits] !== bits)).toHaveLength(0);
  const isBfloatNan = (bits: number): boolean => (bits & 0x7f80) === 0x7f80 && (bits & 0x7f) !== 0;
  const brain = toBfloat16(fromBfloat16(all));
  expect(all.filter((bits) => !isBfloatNan(bits) && brain[bits] !== bits)).toHaveLength(0);
});

test('half precision rounds to the nearest number, ties to even', () => {
  assertProperty(
    property(float({ noNaN: true, min: -60000, max: 60000 }), (value) => {
      const [bits] = toFloat16(Float32Array.of(value));
      const around = fromFloat16(Uint16Array.of(bits, bits + 1, Math.max(bits - 1, bits & 0x8000)));
      const distances = [...around].map((near) => Math.abs(near - value));
      expect(distances[0]).toBe(Math.min(...distances.filter((distance) => !Number.isNaN(distance))));
    }),
  );
  expect([...toFloat16(Float32Array.of(1 + 2 ** -11, 1 + 3 * 2 ** -11))]).toEqual([0x3c00, 0x3c02]);
  expect([...toBfloat16(Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8))]).toEqual([0x3f80, 0x3f82]);
});

describe('a broken file is named, with what was found and expected', () => {
  test('truncated', async () => {
    const file = join(dir, 'x.safetensors');
    await writeSafetensors(file, tensors);
    truncateSync(file, readFileSync(file).length - 4);
    const { message, category } = await failure(readSafetensors(file));
    expect(category).toBe('bad-file');
    expect(message).toContain(file);
    expect(message).toContain('"b.weight"');
    expect(message).toContain('truncated');
  });

  test('truncated within the header', async () => {
    const file = join(dir, 'x.safetensors');
    await writeSafetensors(file, tensors);
    truncateSync(file, 20);
    expect((await failure(readSafetensors(file))).message).toMatch(/claims \d+ bytes but the file holds 20/);
  });

  test.each([
    [
      'shape and offsets disagree',
      { w: { dtype: 'F32', shape: [3], data_offsets: [0, 8] } },
      /"w".*takes 12 bytes.*says 8/,
    ],
    [
      'unknown type',
      { w: { dtype: 'F8_E4M3', shape: [8], data_offsets: [0, 8] } },
      /"w" has dtype F8_E4M3; supported: F32/,
    ],
    ['malformed entry', { w: { shape: [8] } }, /"w": malformed/],
    ['not an object', [1], /not a JSON object/],
  ])('%s', async (_, header, message) => {
    expect((await failure(readSafetensorsHeader(rawFile(header)))).message).toMatch(message);
  });

  test('missing', async () => {
    const error = await failure(readSafetensors(join(dir, 'none.safetensors')));
    expect([error.category, error.message]).toEqual([
      'missing-file',
      expect.stringContaining('none.safetensors'),
    ]);
  });

  test('a tensor that does not fit its shape is not written', async () => {
    const wrong = new Map([['w', { shape: [3], data: Float32Array.of(1, 2) }]]);
    expect((await failure(writeSafetensors(join(dir, 'x'), wrong))).message).toMatch(
      /"w": shape \[3\] needs 3 numbers, 2/,
    );
  });
});

describe('weight store', () => {
  async function shards(): Promise<void> {
    const [[first, a], [second, b]] = [...tensors];
    await writeSafetensors(join(dir, 'one.safetensors'), new Map([[first, a]]));
    await writeSafetensors(join(dir, 'two.safetensors'), new Map([[second, b]]), { dtype: 'BF16' });
    const index = { weight_map: { [first]: 'one.safetensors', [second]: 'two.safetensors' } };
    writeFileSync(join(dir, 'model.safetensors.index.json'), JSON.stringify(index));
  }

  test('finds tensors in shards; float32 stays in its file, bf16 is converted', async () => {
    await shards();
    const store = await WeightStore.open(dir);
    await store.holdAsFloat32();
    const entry = store.entry('b.weight', [2, 3]);
    expect(store.constant('b.weight')).toEqual({
      dtype: 'float32',
      external: { path: join(dir, 'one.safetensors'), offset: entry.offset, length: 24 },
    });
    expect(store.constant('a.bias')).toEqual({ dtype: 'float32', data: Float32Array.of(7, 8) });
    expect(entry.offset % 64).toBe(0);
  });

  test('names a tensor that its shard lacks', async () => {
    await shards();
    await writeSafetensors(join(dir, 'two.safetensors'), new Map());
    expect((await failure(WeightStore.open(dir))).message).toMatch(
      /two\.safetensors: tensor "a\.bias" is missing/,
    );
  });

  test('names a tensor that is missing or has another shape', async () => {
    await writeSafetensors(join(dir, 'model.safetensors'), tensors);
    const store = await WeightStore.open(dir);
    expect(() => store.check([{ name: 'c', shape: [1] }])).toThrow(
      /model\.safetensors: tensor "c" is missing/,
    );
    expect(() => store.check([{ name: 'a.bias', shape: [3] }])).toThrow(
      /"a\.bias" has shape \[2\].*asks for \[3\]/,
    );
  });

  test('says what a folder without weights lacks', async () => {
    const error = await failure(WeightStore.open(dir));
    expect(error.message).toContain('expected model.safetensors or model.safetensors.index.json');
  });

  test('a trained copy does not share memory with the constant', async () => {
    const store = WeightStore.fromTensors(tensors);
    (await store.read('a.bias'))[0] = 99;
    expect(await store.read('a.bias')).toEqual(Float32Array.of(7, 8));
  });
});
