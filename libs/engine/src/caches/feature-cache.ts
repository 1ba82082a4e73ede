import type { Cached, CacheMemory } from './cache-memory';

/** The vision tower's output for one image: rows [tokens, width] for each of the family's feature ports. */
export interface ImageFeatures {
  tokens: number;
  parts: readonly Float32Array[];
}

/**
 * Image features by image and by the weights that computed them; features of a frozen vision tower are valid for all
 * weights.
 */
export class FeatureCache {
  private readonly known = new Map<string, Cached & { features: ImageFeatures }>();

  constructor(private readonly memory: CacheMemory) {}

  get(image: string, weights?: number): ImageFeatures | undefined {
    const found = this.known.get(keyOf(image, weights));
    if (found === undefined) return undefined;
    this.memory.touch(found);
    return found.features;
  }

  set(image: string, features: ImageFeatures, weights?: number): void {
    const key = keyOf(image, weights);
    const before = this.known.get(key);
    if (before !== undefined) this.memory.remove(before);
    const bytes = features.parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const entry = { kind: 'image features', bytes, features, drop: () => void this.known.delete(key) };
    if (this.memory.keep(entry)) this.known.set(key, entry);
  }

  /** Drops the features of weights that can no longer be requested. */
  forget(weights: number): void {
    for (const [key, entry] of [...this.known]) {
      if (key.startsWith(`${weights}/`)) this.memory.remove(entry);
    }
  }
}

function keyOf(image: string, weights?: number): string {
  return `${weights ?? ''}/${image}`;
}
