import { CacheMemory } from './cache-memory';
import { FeatureCache } from './feature-cache';

const features = (size: number) => ({ tokens: 1, parts: [new Float32Array(size)] });

describe('the image feature cache', () => {
  it('forgets what was used least recently once its memory is full, and counts a replaced one once', () => {
    const memory = new CacheMemory(4 * 20);
    const cache = new FeatureCache(memory);
    cache.set('a', features(8));
    cache.set('a', features(8));
    cache.set('b', features(8));
    expect(cache.get('a')).toBeDefined();
    cache.set('c', features(8));
    expect(cache.get('b')).toBeUndefined();
    expect(cache.get('a')).toBeDefined();
    expect(cache.get('c')).toBeDefined();
    expect([memory.usedBytes, memory.evictions, memory.usage]).toEqual([64, 1, { 'image features': 64 }]);
  });

  it('keeps nothing that alone is too large', () => {
    const memory = new CacheMemory(4 * 8);
    const cache = new FeatureCache(memory);
    cache.set('a', features(8));
    cache.set('b', features(9));
    expect(cache.get('a')).toBeDefined();
    expect(cache.get('b')).toBeUndefined();
  });

  it('tells weights apart, and forgets those of some', () => {
    const memory = new CacheMemory(1000);
    const cache = new FeatureCache(memory);
    cache.set('a', features(8));
    cache.set('a', features(8), 1);
    cache.set('a', features(8), 11);
    cache.forget(1);
    expect(cache.get('a', 1)).toBeUndefined();
    expect(cache.get('a', 11)).toBeDefined();
    expect(cache.get('a')).toBeDefined();
    expect(memory.usedBytes).toBe(64);
  });
});
