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
  it('gives ranges of rows as views of one memory and moves rows', () => {
    const shape = { layers: 1, rows: 3, kvHeads: 2, capacity: 4, headDim: 2 };
    const cache = new KvCache(shape, [{ past: 'past', present: 'present' }]);
    const last = cache.view(2, 1);
    expect(last.feeds.past).toBe(last.fetches.present);
    const data = last.feeds.past.data as Float32Array;
    data.forEach((_, index) => (data[index] = index + 1));
    cache.moveRow(2, 0, 3);
    const first = Array.from(cache.view(0, 1).feeds.past.data as Float32Array);
    expect(first).toEqual([1, 2, 3, 4, 5, 6, 0, 0, 9, 10, 11, 12, 13, 14, 0, 0]);
    expect(cache.view(0, 1)).toBe(cache.view(0, 1));
  });
});
