import { LRUCache } from 'lru-cache';

/** What the vision tower makes of one image: rows [tokens, width] for each of the family's feature ports. */
export interface ImageFeatures {
  tokens: number;
  parts: readonly Float32Array[];
}

/** Least recently used image features, by key (image hash and, where the vision tower is trained, weights). */
export type FeatureCache = LRUCache<string, ImageFeatures>;

/** A cache that holds so many bytes, or the newest features where they alone are more. */
export function featureCache(limitBytes: number): FeatureCache {
  const maxSize = Math.max(1, limitBytes);
  const sizeCalculation = ({ parts }: ImageFeatures): number => {
    const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return Math.min(bytes, maxSize);
  };
  return new LRUCache({ maxSize, sizeCalculation });
}
