import { Session, tensor, type SessionOptions, type Tensor } from '@ui-rl/graph';
import type { Family, PlacedImage, ProcessedImage } from '@ui-rl/models';
import { deepstackName, IMAGE_FEATURES, type VisionEncoder } from './vision-encoder';
import type { ImageFeatures } from './feature-cache';
import type { DecodeInput, PrefillInput, TokenModel } from './generator';
import { KvCache, type KvNames } from './kv-cache';
import { SPIN_BRIEFLY } from './spinning';
import type { GenerateRequest } from './types';
import type { SamplingWeights } from './sampling-weights';
import type { WeightSet } from './weights';

export interface SamplerModelOptions {
  family: Family;
  vision: VisionEncoder;
  weights: SamplingWeights;
  stopTokenIds: ReadonlySet<number>;
  session: SessionOptions;
  rows: number;
  capacity: number;
}

/** From so many rows on there is work for a second thread in most operations, and threads wait for each other awake. */
const MANY_ROWS = 32;

interface SamplerSession {
  session: Session;
  weightNames: string[];
}

export interface SamplerTimes {
  decodeMs: number;
  decodeIterations: number;
  prefillMs: number;
  visionMs: number;
}

type Prompt = GenerateRequest['prompt'];

/** The decoder with its cache: sessions that read prompts, with and without images, and one that adds a token per row. */
export class SamplerModel implements TokenModel {
  readonly times: SamplerTimes = { decodeMs: 0, decodeIterations: 0, prefillMs: 0, visionMs: 0 };

  private textPrompts: Promise<SamplerSession> | undefined;
  private manyTokens: Promise<SamplerSession> | undefined;

  private constructor(
    private readonly options: SamplerModelOptions,
    private readonly imagePrompts: SamplerSession,
    private readonly tokens: SamplerSession,
    private readonly caches: readonly KvNames[],
  ) {}

  static async create(options: SamplerModelOptions): Promise<SamplerModel> {
    const imagePrompts = await buildSession(options, 'prompt', true);
    const tokens = await buildSession(options, 'token', false);
    const past = tokens.session.inputNames.filter((name) => /^past_(key|value)\./.test(name));
    const caches = past.map((name) => ({ past: name, added: name.replace('past_', 'new_') }));
    return new SamplerModel(options, imagePrompts, tokens, caches);
  }

  get vocabSize(): number {
    return this.options.family.shape.vocabSize;
  }

  get stopTokenIds(): ReadonlySet<number> {
    return this.options.stopTokenIds;
  }

  get forbiddenTokenIds(): readonly number[] {
    return [this.options.family.shape.imageTokenId];
  }

  newCache(room: number): KvCache {
    const { kvHeads, headDim } = this.options.family.shape;
    return new KvCache({ kvHeads, headDim, rows: this.options.rows, room }, this.caches);
  }

  nextPosition({ tokenIds, images }: Prompt): number {
    return this.options.family.nextPosition(Array.from(tokenIds), images);
  }

  async prefill(
    weights: WeightSet,
    cache: KvCache,
    firstRow: number,
    prompts: readonly PrefillInput[],
  ): Promise<Float32Array> {
    const images = prompts.flatMap(({ prompt }) => prompt.images);
    const began = performance.now();
    const encoded = await this.options.vision.encode(weights, images);
    const read = performance.now();
    this.times.visionMs += read - began;
    const { placed, feeds, featureRows } = this.place(images, encoded);
    let next = 0;
    const rows = prompts.map(({ prompt, temperature }) => ({
      tokenIds: Array.from(prompt.tokenIds),
      images: placed.slice(next, (next += prompt.images.length)),
      temperature,
    }));
    const sampler = featureRows === null ? await this.textSession() : this.imagePrompts;
    const outputs = await sampler.session.run(
      {
        ...this.options.family.prefillFeeds(rows, featureRows),
        ...feeds,
        ...(await this.options.weights.feeds(weights, sampler.weightNames)),
      },
      { probabilities: null, ...cache.fetches },
    );
    const places = rows.map(({ tokenIds }, row) => ({ row, tokens: tokenIds.length, position: 0 }));
    cache.write(outputs, places, firstRow);
    this.times.prefillMs += performance.now() - read;
    return outputs.probabilities.data as Float32Array;
  }

  async decode(weights: WeightSet, cache: KvCache, rows: readonly DecodeInput[]): Promise<Float32Array> {
    const began = performance.now();
    const { session, weightNames } = rows.length < MANY_ROWS ? this.tokens : await this.manyTokensSession();
    const outputs = await session.run(
      {
        ...this.options.family.decodeFeeds(rows, cache.capacity),
        ...cache.view(rows.length),
        ...(await this.options.weights.feeds(weights, weightNames)),
      },
      { probabilities: null, ...cache.fetches },
    );
    const places = rows.map(({ cached }, row) => ({ row, tokens: 1, position: cached }));
    cache.write(outputs, places, 0);
    this.times.decodeMs += performance.now() - began;
    this.times.decodeIterations += 1;
    return outputs.probabilities.data as Float32Array;
  }

  async release(): Promise<void> {
    await this.imagePrompts.session.release();
    await this.tokens.session.release();
    await this.options.weights.release();
    await (await this.textPrompts)?.session.release();
    await (await this.manyTokens)?.session.release();
  }

  /** Prompts without an image are rare: their session is made when the first one comes. */
  private textSession(): Promise<SamplerSession> {
    this.textPrompts ??= buildSession(this.options, 'prompt', false);
    return this.textPrompts;
  }

  /** Few engines ever have so many rows: their session is made when they do. */
  private manyTokensSession(): Promise<SamplerSession> {
    const session = { ...this.options.session, ...SPIN_BRIEFLY };
    this.manyTokens ??= buildSession({ ...this.options, session }, 'token', false);
    return this.manyTokens;
  }

  /** Puts the features of the distinct images below each other. */
  private place(
    images: readonly ProcessedImage[],
    encoded: readonly ImageFeatures[],
  ): { placed: PlacedImage[]; feeds: Record<string, Tensor>; featureRows: number | null } {
    if (images.length === 0) return { placed: [], feeds: {}, featureRows: null };
    const firstRows = new Map<ImageFeatures, number>();
    let total = 0;
    for (const features of encoded) {
      if (firstRows.has(features)) continue;
      firstRows.set(features, total);
      total += features.tokens;
    }
    const { hiddenSize, deepstack } = this.options.family.shape;
    const stack = (pick: (features: ImageFeatures) => Float32Array): Tensor => {
      const data = new Float32Array(total * hiddenSize);
      for (const [features, row] of firstRows) data.set(pick(features), row * hiddenSize);
      return tensor('float32', data, [total, hiddenSize]);
    };
    const feeds: Record<string, Tensor> = { [IMAGE_FEATURES]: stack(({ features }) => features) };
    for (let layer = 0; layer < deepstack; layer += 1) {
      feeds[deepstackName(layer)] = stack((features) => features.deepstack[layer]);
    }
    const placed = images.map((image, index) => ({ ...image, firstRow: firstRows.get(encoded[index]) ?? 0 }));
    return { placed, feeds, featureRows: total };
  }
}

async function buildSession(
  { family, weights, session }: SamplerModelOptions,
  pass: 'prompt' | 'token',
  images: boolean,
): Promise<SamplerSession> {
  const { graph, parameterInputs } = family.buildForward({
    kind: 'sampler',
    parameters: weights.parameters(),
    pass,
    images,
  });
  return { session: await Session.create(graph, session), weightNames: [...parameterInputs.keys()] };
}
