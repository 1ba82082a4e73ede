import { tensor } from '@ui-rl/graph';
import { HostKvCache } from '../kv-cache/host-kv-cache';
import { WeightSet } from '../weights/weight-set';
import { CacheMemory } from './cache-memory';
import { PrefixCache } from './prefix-cache';
import { sequenceOf, type Sequence } from './sequence';

const names = [{ past: 'past', added: 'new' }];
/** Bytes of a token: two heads with one number each. */
const TOKEN = 8;
const IMAGE = 99;

/** Tokens `from` … `to`; the cache stores their ids as keys and values. */
const words = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

const text = (tokenIds: readonly number[]): Sequence => sequenceOf({ tokenIds, images: [] }, IMAGE);

/** A cache whose row holds the ids of a sequence. */
async function holding({ tokenIds }: Sequence, row = 0): Promise<HostKvCache> {
  const cache = new HostKvCache({ rows: 2, kvHeads: 2, maxLength: 128, headDim: 1 }, names);
  cache.ensureCapacity(128, 0);
  const numbers = [...tokenIds, ...Array.from(tokenIds, (id) => -id)];
  await cache.append({ new: tensor('float32', numbers, [1, 2, tokenIds.length, 1]) }, [tokenIds.length], row);
  return cache;
}

/** The second row of an empty cache after a prefix was copied into it. */
async function readInto(prefixes: PrefixCache, weights: WeightSet, sequence: Sequence): Promise<number[]> {
  const prefix = prefixes.find(weights, sequence);
  if (prefix === undefined) return [];
  const cache = await holding(text([]), 0);
  await prefixes.read(prefix, cache, 1);
  const { past } = await cache.view(1, 1);
  const heads = [0, 128].map((begin) => [...(past.data as Float32Array).slice(begin, begin + prefix.tokens)]);
  expect(heads[1]).toEqual(heads[0].map((value) => -value));
  return heads[0];
}

function makeCache(tokens: number) {
  const memory = new CacheMemory(TOKEN * tokens);
  const prefixes = new PrefixCache(memory);
  const weights = new WeightSet(0, new Map());
  const keep = async (sequence: Sequence, by = weights): Promise<void> =>
    prefixes.keep(by, sequence, await holding(sequence), 0);
  const known = (sequence: Sequence, by = weights): Promise<number[]> => readInto(prefixes, by, sequence);
  return { memory, prefixes, weights, keep, known };
}

describe('the cache of prefixes', () => {
  it('gives the longest beginning that is known, token by token, and keeps every token once', async () => {
    const { memory, keep, known } = makeCache(1000);
    const first = words(1, 41);
    await keep(text(first));
    // An answer shorter than a step, then the next turn, then another answer.
    await keep(text([...first, 300, 301]));
    await keep(text([...first, 300, 301, ...words(50, 70)]));
    await keep(text([...first, 310, ...words(70, 100)]));
    expect(memory.usedBytes).toBe(TOKEN * (40 + 2 + 20 + 31));
    const whole = [...first, 300, 301, ...words(50, 70)];
    expect(await known(text([...whole, 7]))).toEqual(whole);
    expect(await known(text([...first, 300, 301, 50, 8]))).toEqual([...first, 300, 301, 50]);
    expect(await known(text([...first, 300, 5]))).toEqual([...first, 300]);
    expect(await known(text([...first, 310, 70, 71, 9]))).toEqual([...first, 310, 70, 71]);
    expect(await known(text(words(1, 31)))).toEqual(words(1, 31));
    expect(await known(text([1, 2, 3, ...words(50, 70)]))).toEqual([]);
  });

  it('tells images in the same places apart', async () => {
    const { keep, known } = makeCache(1000);
    const tokenIds = [...words(1, 21), IMAGE, IMAGE, 30, IMAGE, IMAGE, ...words(40, 60)];
    const showing = (...keys: string[]): Sequence => {
      const images = keys.map((key) => ({ key, tokens: 2 }));
      return sequenceOf({ tokenIds, images: images as never }, IMAGE);
    };
    await keep(showing('a', 'b'));
    expect(await known(showing('a', 'b'))).toHaveLength(tokenIds.length);
    expect(await known(showing('a', 'c'))).toHaveLength(23);
    expect(await known(showing('b', 'b'))).toHaveLength(20);
  });

  it('drops what was not used for longest, never what something else stands on', async () => {
    const { memory, keep, known } = makeCache(100);
    const first = words(1, 41);
    await keep(text(first));
    await keep(text([...first, ...words(50, 70)]));
    await keep(text(words(200, 230)));
    expect(await known(text([...first, ...words(50, 70)]))).toHaveLength(60);
    await keep(text(words(400, 420)));
    expect(await known(text(words(200, 230)))).toEqual([]);
    expect(await known(text([...first, ...words(50, 70)]))).toHaveLength(60);
    await keep(text(words(500, 530)));
    await keep(text(words(600, 650)));
    expect(await known(text([...first, ...words(50, 70)]))).toHaveLength(0);
    expect(memory.usedBytes).toBe(TOKEN * 80);
    expect(memory.evictions).toBe(4);
    // Larger than the memory, together with its prefix.
    await keep(text([...words(600, 650), ...words(1, 61)]));
    expect(memory.usedBytes).toBe(TOKEN * 80);
    expect(await known(text(words(600, 650)))).toHaveLength(50);
  });

  it('drops what was kept last before what it stands on', async () => {
    const { memory, keep, known } = makeCache(100);
    const first = words(1, 41);
    await keep(text(first));
    await keep(text([...first, ...words(50, 70)]));
    await keep(text(words(200, 250)));
    expect(await known(text([...first, ...words(50, 70)]))).toEqual(first);
    expect(memory.usedBytes).toBe(TOKEN * 90);
  });

  it('tells weights apart and forgets those of some', async () => {
    const { memory, prefixes, keep, known, weights } = makeCache(1000);
    const others = new WeightSet(1, new Map());
    await keep(text(words(1, 41)));
    await keep(text([...words(1, 41), 300]));
    await keep(text(words(1, 31)), others);
    expect(await known(text(words(1, 41)), others)).toHaveLength(30);
    prefixes.forget(weights);
    expect(await known(text(words(1, 41)))).toEqual([]);
    expect(await known(text(words(1, 41)), others)).toHaveLength(30);
    expect(memory.usedBytes).toBe(TOKEN * 30);
  });

  it('without memory keeps nothing', async () => {
    const { keep, known } = makeCache(0);
    await keep(text(words(1, 41)));
    expect(await known(text(words(1, 41)))).toEqual([]);
  });
});
