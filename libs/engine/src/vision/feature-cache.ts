import { LRUCache } from 'lru-cache';

/** What the vision tower makes of one image: rows [tokens, hidden] of its features and of each deepstack layer. */
export interface ImageFeatures {
  tokens: number;
  features: Float32Array;
  deepstack: Float32Array[];
}

/** Least recently used image features, by key (image hash and, where the vision tower is trained, weights). */
export type FeatureCache = LRUCache<string, ImageFeatures>;

/** A cache that holds so many bytes, or the newest features where they alone are more. */
export function featureCache(limitBytes: number): FeatureCache {
  const maxSize = Math.max(1, limitBytes);
  const sizeCalculation = ({ features, deepstack }: ImageFeatures): number => {
    const bytes = deepstack.reduce((sum, layer) => sum + layer.byteLength, features.byteLength);
    return Math.min(bytes, maxSize);
  };
  return new LRUCache({ maxSize, sizeCalculation });
}
