import { featureCache } from './feature-cache';

const entry = (size: number) => ({ tokens: 1, parts: [new Float32Array(size)] });

describe('the image feature cache', () => {
  it('forgets what was used least recently once it is full', () => {
    const cache = featureCache(4 * 20);
    cache.set('a', entry(8));
    cache.set('b', entry(8));
    expect(cache.get('a')).toBeDefined();
    cache.set('c', entry(8));
    expect(cache.get('b')).toBeUndefined();
    expect(cache.get('a')).toBeDefined();
    expect(cache.get('c')).toBeDefined();
  });

  it('keeps the newest entry even where it alone is too large, and counts a replaced one once', () => {
    const cache = featureCache(4);
    cache.set('a', entry(8));
    cache.set('a', entry(8));
    expect(cache.get('a')).toBeDefined();
    cache.set('b', entry(1));
    expect(cache.get('a')).toBeUndefined();
    expect(cache.get('b')).toBeDefined();
  });
});
