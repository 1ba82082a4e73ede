import { tensor } from '@ui-rl/graph';
import { FeatureCache } from './feature-cache';
import { KvCache } from './kv-cache';

const entry = (size: number) => ({ tokens: 1, features: new Float32Array(size), deepstack: [] });

describe('the image feature cache', () => {
  it('forgets what was used least recently once it is full', () => {
    const cache = new FeatureCache(4 * 20);
    cache.set('a', entry(8));
    cache.set('b', entry(8));
    expect(cache.get('a')).toBeDefined();
    cache.set('c', entry(8));
    expect(cache.get('b')).toBeUndefined();
    expect(cache.get('a')).toBeDefined();
    expect(cache.get('c')).toBeDefined();
  });

  it('keeps the newest entry even where it alone is too large, and counts a replaced one once', () => {
    const cache = new FeatureCache(4);
    cache.set('a', entry(8));
    cache.set('a', entry(8));
    expect(cache.get('a')).toBeDefined();
    cache.set('b', entry(1));
    expect(cache.get('a')).toBeUndefined();
    expect(cache.get('b')).toBeDefined();
  });
});

describe('the key/value cache', () => {
  const names = [{ past: 'past', added: 'new' }];
  const shape = { rows: 3, kvHeads: 2, room: 4, headDim: 2 };
  const contents = (cache: KvCache, count: number) => Array.from(cache.view(count).past.data as Float32Array);

  it('takes over what a pass adds, moves rows and grows', () => {
    const cache = new KvCache(shape, names);
    cache.widen(4, 0);
    // One row of the pass, 2 heads, 3 tokens of which the last is padding.
    const added = tensor('float32', [1, 2, 3, 4, -1, -1, 5, 6, 7, 8, -1, -1], [1, 2, 3, 2]);
    cache.write({ new: added }, [{ row: 0, tokens: 2, position: 1 }], 2);
    cache.copyRow(2, 0, 3);
    expect(contents(cache, 1)).toEqual([0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0]);
    const larger = cache.grown(5, 1);
    expect(contents(larger, 1)).toEqual(contents(cache, 1));
    larger.widen(5, 1);
    expect(larger.view(3).past.dims).toEqual([3, 2, 5, 2]);
    const [first, second] = [contents(larger, 1).slice(0, 8), contents(larger, 1).slice(10, 18)];
    expect([...first, ...second]).toEqual(contents(cache, 1));
  });

  it('grows in place by steps, whatever the rows hold', () => {
    const cache = new KvCache({ rows: 3, kvHeads: 2, room: 100, headDim: 1 }, names);
    cache.widen(20, 0);
    expect(cache.capacity).toBe(32);
    const numbers = Array.from({ length: 3 * 2 * 20 }, (_, index) => index + 1);
    const places = [0, 1, 2].map((row) => ({ row, tokens: 20, position: 0 }));
    cache.write({ new: tensor('float32', numbers, [3, 2, 20, 1]) }, places, 0);
    for (const tokens of [33, 65, 100]) {
      cache.widen(tokens, 3);
      const capacity = cache.capacity;
      const heads = Array.from({ length: 6 }, (_, head) =>
        contents(cache, 3).slice(head * capacity, head * capacity + 20),
      );
      expect(heads.flat()).toEqual(numbers);
    }
    expect(cache.capacity).toBe(100);
    expect(() => cache.widen(101, 3)).toThrow('room for 100 tokens');
    cache.clear();
    cache.widen(1, 0);
    expect(cache.capacity).toBe(32);
  });
});
