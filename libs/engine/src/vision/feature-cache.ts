/** What the vision tower makes of one image: rows [tokens, hidden] of its features and of each deepstack layer. */
export interface ImageFeatures {
  tokens: number;
  features: Float32Array;
  deepstack: Float32Array[];
}

function sizeBytes(entry: ImageFeatures): number {
  return entry.deepstack.reduce((sum, layer) => sum + layer.byteLength, entry.features.byteLength);
}

/** Least recently used image features, by key (image hash and, where the vision tower is trained, weights). */
export class FeatureCache {
  private readonly entries = new Map<string, ImageFeatures>();
  private bytes = 0;

  constructor(private readonly limitBytes: number) {}

  get(key: string): ImageFeatures | undefined {
    const entry = this.entries.get(key);
    if (entry !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, entry);
    }
    return entry;
  }

  set(key: string, entry: ImageFeatures): void {
    const known = this.entries.get(key);
    if (known !== undefined) this.remove(key, known);
    this.entries.set(key, entry);
    this.bytes += sizeBytes(entry);
    for (const [oldest, old] of this.entries) {
      if (this.bytes <= this.limitBytes || oldest === key) break;
      this.remove(oldest, old);
    }
  }

  private remove(key: string, entry: ImageFeatures): void {
    this.entries.delete(key);
    this.bytes -= sizeBytes(entry);
  }
}
