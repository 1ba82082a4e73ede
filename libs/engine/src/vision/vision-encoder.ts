import { Session, tensor, type DeviceMemory, type SessionOptions, type Tensor } from '@ui-rl/graph';
import type { AttentionKind, Family, ParameterSource, ProcessedImage } from '@ui-rl/models';
import { attentionFor } from '../passes/attention-kind';
import { memoize } from '../memoize';
import type { CacheMemory } from '../caches/cache-memory';
import { FeatureCache, type ImageFeatures } from '../caches/feature-cache';
import { feedsOf, type WeightSet } from '../weights/weight-set';

export interface VisionEncoderOptions {
  session: SessionOptions;
  memory: DeviceMemory;
  /** Encode images one by one, so that results do not depend on other images. */
  alone: boolean;
  /** Patches per pass. */
  patches: number;
  caches: CacheMemory;
}

/** Encodes images to features, each distinct image once per version of the weights. */
export class VisionEncoder {
  private readonly cache: FeatureCache;
  private readonly sessions = new Map<AttentionKind, Promise<Session>>();

  private readonly weightNames: readonly string[];

  /** @param parameters creates a source for each graph */
  constructor(
    private readonly family: Family,
    private readonly parameters: () => ParameterSource,
    private readonly options: VisionEncoderOptions,
  ) {
    this.cache = new FeatureCache(options.caches);
    const { parameterInputs } = family.buildForward({ kind: 'vision', parameters: parameters() });
    this.weightNames = [...parameterInputs.keys()];
  }

  /** Features of each image, in order; equal images share one entry. */
  async encode(weights: WeightSet, images: readonly ProcessedImage[]): Promise<ImageFeatures[]> {
    const found = new Map<string, ImageFeatures>();
    const missing = new Map<string, ProcessedImage>();
    for (const image of images) {
      const cached = this.cache.get(image.key, this.keyOf(weights));
      if (cached === undefined) missing.set(image.key, image);
      else found.set(image.key, cached);
    }
    for (const pass of this.passes([...missing.values()])) {
      const features = await this.run(weights, pass);
      pass.forEach((image, index) => {
        found.set(image.key, features[index]);
        this.cache.set(image.key, features[index], this.keyOf(weights));
      });
    }
    return images.map((image) => found.get(image.key) as ImageFeatures);
  }

  /**
   * Stacked features of images as inputs of a trainer's graph.
   * @param rows number of rows per image, see `TrainerBatch.featureRows`
   */
  async featureFeeds(
    weights: WeightSet,
    images: readonly ProcessedImage[],
    rows: readonly number[],
  ): Promise<Record<string, Tensor>> {
    const encoded = await this.encode(weights, images);
    const total = rows.reduce((sum, count) => sum + count, 0);
    const feeds: Record<string, Tensor> = {};
    this.family.features.forEach(({ name, width }, part) => {
      const data = new Float32Array(total * width);
      let next = 0;
      encoded.forEach(({ parts }, index) => {
        data.set(parts[part], next * width);
        next += rows[index];
      });
      feeds[name] = tensor('float32', data, [total, width]);
    });
    return feeds;
  }

  /** Drops the features of weights that can no longer be requested. */
  forget(weights: WeightSet): void {
    this.cache.forget(weights.id);
  }

  private keyOf(weights: WeightSet): number | undefined {
    return this.weightNames.length === 0 ? undefined : weights.id;
  }

  /** Groups images of equal grid, because passes pad to the longest. */
  private passes(images: ProcessedImage[]): ProcessedImage[][] {
    if (this.options.alone) return images.map((image) => [image]);
    const sorted = images.toSorted((a, b) => patchCount(a) - patchCount(b));
    const passes: ProcessedImage[][] = [];
    for (const image of sorted) {
      const pass = passes.at(-1);
      const joins =
        pass !== undefined &&
        pass[0].grid.join() === image.grid.join() &&
        (pass.length + 1) * patchCount(image) <= this.options.patches;
      if (joins) pass.push(image);
      else passes.push([image]);
    }
    return passes;
  }

  private async run(weights: WeightSet, images: ProcessedImage[]): Promise<ImageFeatures[]> {
    const { feeds, firstRows } = this.family.visionFeeds(images);
    const session = await this.session(Math.max(...images.map(patchCount)));
    const trained = await feedsOf(weights, this.options.memory, this.weightNames);
    const outputs = await session.run({ ...feeds, ...trained });
    return images.map((image, index) => {
      const tokens = this.family.imageTokens(image);
      const parts = this.family.features.map(({ name, width }) => {
        const begin = firstRows[index] * width;
        return (outputs[name].data as Float32Array).slice(begin, begin + tokens * width);
      });
      return { tokens, parts };
    });
  }

  /** Creates sessions on first use. */
  private session(longest: number): Promise<Session> {
    const attention = attentionFor(longest, this.options.memory.location);
    return memoize(this.sessions, attention, () => {
      const parameters = this.parameters();
      // All images of a pass have the same grid.
      const fused = (this.options.session.device ?? 'cpu') === 'cpu';
      const { graph } = this.family.buildForward({ kind: 'vision', parameters, attention, fused });
      return Session.create(graph, this.options.session);
    });
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }
}

function patchCount(image: ProcessedImage): number {
  return image.grid[0] * image.grid[1] * image.grid[2];
}
