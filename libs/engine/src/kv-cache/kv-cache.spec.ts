import { tensor } from '@ui-rl/graph';
import { HostKvCache } from './host-kv-cache';
import type { KvCache } from './kv-cache';

describe('the key/value cache on the host', () => {
  const names = [{ past: 'past', added: 'new' }];
  const shape = { rows: 3, kvHeads: 2, maxLength: 4, headDim: 2 };
  const contents = async (cache: KvCache, count: number) =>
    Array.from((await cache.view(count)).past.data as Float32Array);

  it('takes over what a pass adds, moves rows and grows', async () => {
    const cache = new HostKvCache(shape, names);
    cache.ensureCapacity(4, 0);
    // One row of the pass, 2 heads, 3 tokens of which the last is padding; then one more token.
    const prompt = tensor('float32', [1, 2, 3, 4, -1, -1, 5, 6, 7, 8, -1, -1], [1, 2, 3, 2]);
    await cache.append({ new: prompt }, [2], 2);
    cache.copyRow(2, 0, 2);
    await cache.extend({ new: tensor('float32', [10, 20, 30, 40], [1, 2, 1, 2]) }, [2]);
    expect(await contents(cache, 1)).toEqual([1, 2, 3, 4, 10, 20, 0, 0, 5, 6, 7, 8, 30, 40, 0, 0]);
    const larger = cache.grown(5, 1);
    expect(await contents(larger, 1)).toEqual(await contents(cache, 1));
    larger.ensureCapacity(5, 1);
    expect((await larger.view(3)).past.dims).toEqual([3, 2, 5, 2]);
    const grown = await contents(larger, 1);
    const [first, second] = [grown.slice(0, 8), grown.slice(10, 18)];
    expect([...first, ...second]).toEqual(await contents(cache, 1));
  });

  it('grows in place by steps, with any contents of the rows', async () => {
    const cache = new HostKvCache({ rows: 3, kvHeads: 2, maxLength: 100, headDim: 1 }, names);
    cache.ensureCapacity(20, 0);
    expect(cache.capacity).toBe(32);
    const numbers = Array.from({ length: 3 * 2 * 20 }, (_, index) => index + 1);
    await cache.append({ new: tensor('float32', numbers, [3, 2, 20, 1]) }, [20, 20, 20], 0);
    for (const tokens of [33, 65, 100]) {
      cache.ensureCapacity(tokens, 3);
      const capacity = cache.capacity;
      const all = await contents(cache, 3);
      const heads = Array.from({ length: 6 }, (_, head) => all.slice(head * capacity, head * capacity + 20));
      expect(heads.flat()).toEqual(numbers);
    }
    expect(cache.capacity).toBe(100);
    expect(() => cache.ensureCapacity(101, 3)).toThrow('at most 100 tokens');
    cache.clear();
    cache.ensureCapacity(1, 0);
    expect(cache.capacity).toBe(32);
  });
});
