import { Session, tensor, type DeviceMemory, type SessionOptions, type Tensor } from '@ui-rl/graph';
import type { Family, ProcessedImage, SamplerOptions, StatePort } from '@ui-rl/models';
import type { VisionEncoder } from '../vision/vision-encoder';
import { attentionFor } from '../passes/attention-kind';
import type { ImageFeatures } from '../caches/feature-cache';
import { placesOf } from '../caches/sequence';
import type { TokenGrammar, TokenGrammars } from '../grammar/token-grammar';
import type { DecodeInput, NextTokens, PrefillInput, TokenModel } from './token-model';
import { DeviceKvCache } from '../kv-cache/device-kv-cache';
import { HostKvCache } from '../kv-cache/host-kv-cache';
import type { KvCache, KvNames } from '../kv-cache/kv-cache';
import { memoize } from '../memoize';
import { KvSessions } from '../kv-cache/kv-sessions';
import { RowStates } from '../kv-cache/row-states';
import { StatefulKvCache } from '../kv-cache/stateful-kv-cache';
import { SPIN_BRIEFLY } from '../device/spinning';
import type { Feeds } from '../feeds';
import type { ResolvedInput } from '../training/data';
import type { SamplingWeights } from '../weights/sampling-weights';
import type { WeightSet } from '../weights/weight-set';

export interface SamplerModelOptions {
  family: Family;
  vision: VisionEncoder;
  weights: SamplingWeights;
  stopTokenIds: ReadonlySet<number>;
  grammars: TokenGrammars;
  session: SessionOptions;
  memory: DeviceMemory;
  rows: number;
  capacity: number;
}

/** From this many rows on, most operations benefit from a second thread and from spinning. */
const MANY_ROWS = 32;

interface SamplerSession {
  session: Session;
  caches: readonly KvNames[];
  states: readonly StatePort[];
  weightNames: string[];
}

export interface SamplerTimes {
  decodeMs: number;
  decodeIterations: number;
  prefillMs: number;
  visionMs: number;
}

/**
 * The decoder with its cache: sessions that prefill prompts with and without images, and a session that appends one
 * token per row.
 */
export class SamplerModel implements TokenModel {
  readonly times: SamplerTimes = { decodeMs: 0, decodeIterations: 0, prefillMs: 0, visionMs: 0 };

  private readonly prompts = new Map<string, Promise<SamplerSession>>();
  private manyTokens: Promise<SamplerSession> | undefined;

  private constructor(
    private readonly options: SamplerModelOptions,
    private readonly tokens: SamplerSession,
    private readonly caches: readonly KvNames[],
    /** for caches in device memory */
    private readonly onDevice: KvSessions | undefined,
  ) {}

  static async create(options: SamplerModelOptions): Promise<SamplerModel> {
    const tokens = await buildSession(options, { pass: 'token', images: false });
    const { caches } = tokens;
    const { family, memory } = options;
    const onDevice = memory.location === 'cpu' ? undefined : new KvSessions(caches, family.shape);
    return new SamplerModel(options, tokens, caches, onDevice);
  }

  get vocabSize(): number {
    return this.options.family.shape.vocabSize;
  }

  get imageTokenId(): number {
    return this.options.family.shape.imageTokenId;
  }

  get stopTokenIds(): ReadonlySet<number> {
    return this.options.stopTokenIds;
  }

  get forbiddenTokenIds(): readonly number[] {
    return this.options.family.neverSampled;
  }

  grammar(pattern: string): TokenGrammar {
    return this.options.grammars.get(pattern);
  }

  newCache(maxLength: number): KvCache {
    const { kvHeads, headDim } = this.options.family.shape;
    const shape = { kvHeads, headDim, rows: this.options.rows, maxLength };
    const cache =
      this.onDevice === undefined
        ? new HostKvCache(shape, this.caches)
        : new DeviceKvCache(shape, this.caches, this.onDevice);
    return this.hasStates ? new StatefulKvCache(cache, new RowStates(this.tokens.states)) : cache;
  }

  get wholeImages(): boolean {
    return this.options.family.wholeImages;
  }

  get hasStates(): boolean {
    return this.tokens.states.length > 0;
  }

  nextPosition({ tokenIds, images }: ResolvedInput): number {
    return this.options.family.nextPosition(Array.from(tokenIds), images);
  }

  async prefill(
    weights: WeightSet,
    cache: KvCache,
    firstRow: number,
    prompts: readonly PrefillInput[],
  ): Promise<NextTokens> {
    const { family, vision, weights: samplingWeights } = this.options;
    const images = prompts.flatMap((input) => this.imagesRead(input));
    const began = performance.now();
    const encoded = await vision.encode(weights, images);
    const read = performance.now();
    this.times.visionMs += read - began;
    const { firstRows, feeds, featureRows } = this.place(images, encoded);
    const rows = prompts.map(({ prompt, wantsLogits: _, ...part }) => ({
      tokenIds: Array.from(prompt.tokenIds),
      images: prompt.images.map((image) => ({ ...image, firstRow: firstRows.get(image.key) ?? 0 })),
      ...part,
    }));
    const cached = rows.some((row) => row.cached > 0) ? rows.map((row) => row.cached) : undefined;
    const lengths = rows.map((row) => row.until - row.cached);
    const capacity = cached === undefined ? undefined : cache.capacity;
    const sampler = await this.promptSession(
      featureRows !== null,
      Math.max(...lengths),
      cached !== undefined,
    );
    const outputs = await sampler.session.run(
      {
        ...family.prefillFeeds(rows, featureRows, capacity),
        ...(cached === undefined ? {} : await cache.view(rows.length, firstRow)),
        ...feeds,
        ...(await samplingWeights.feeds(weights, sampler.weightNames)),
      },
      { ...fetchesOf(prompts), ...cache.fetches },
    );
    await cache.append(outputs, lengths, firstRow, cached);
    this.times.prefillMs += performance.now() - read;
    return nextTokens(outputs);
  }

  async decode(weights: WeightSet, cache: KvCache, rows: readonly DecodeInput[]): Promise<NextTokens> {
    const began = performance.now();
    const { session, weightNames } = rows.length < MANY_ROWS ? this.tokens : await this.manyTokensSession();
    const outputs = await session.run(
      {
        ...this.options.family.decodeFeeds(rows, cache.capacity),
        ...(await cache.view(rows.length)),
        ...(await this.options.weights.feeds(weights, weightNames)),
      },
      { ...fetchesOf(rows), ...cache.fetches },
    );
    const positions = rows.map(({ cached }) => cached);
    await cache.extend(outputs, positions);
    this.times.decodeMs += performance.now() - began;
    this.times.decodeIterations += 1;
    return nextTokens(outputs);
  }

  async release(): Promise<void> {
    for (const prompts of this.prompts.values()) await (await prompts).session.release();
    await this.tokens.session.release();
    await this.onDevice?.release();
    await this.options.weights.release();
    await (await this.manyTokens)?.session.release();
  }

  /** Creates prefill sessions on first use. */
  private promptSession(images: boolean, longest: number, continues: boolean): Promise<SamplerSession> {
    const pass = continues ? 'continuation' : 'prompt';
    const attention = continues ? 'whole' : attentionFor(longest, this.options.memory.location);
    return memoize(this.prompts, `${pass} ${images} ${attention}`, () =>
      buildSession(this.options, { pass, images, attention }),
    );
  }

  /** The images with placeholders among the tokens to prefill. */
  private imagesRead({ prompt, cached, until }: PrefillInput): ProcessedImage[] {
    const places = placesOf(prompt, this.imageTokenId);
    return prompt.images.filter((_, index) => places[index].end > cached && places[index].start < until);
  }

  /** Few engines ever have this many rows, so this session is created on demand. */
  private manyTokensSession(): Promise<SamplerSession> {
    const session = { ...this.options.session, ...SPIN_BRIEFLY };
    const options = { ...this.options, session };
    this.manyTokens ??= buildSession(options, { pass: 'token', images: false }).catch((error: unknown) => {
      this.manyTokens = undefined;
      throw error;
    });
    return this.manyTokens;
  }

  /** Stacks the features of the distinct images and returns each image's first row by its key. */
  private place(
    images: readonly ProcessedImage[],
    encoded: readonly ImageFeatures[],
  ): { firstRows: ReadonlyMap<string, number>; feeds: Record<string, Tensor>; featureRows: number | null } {
    const firstRows = new Map<string, number>();
    if (images.length === 0) return { firstRows, feeds: {}, featureRows: null };
    const distinct = new Map(images.map(({ key }, index) => [key, encoded[index]]));
    let total = 0;
    for (const [key, { tokens }] of distinct) {
      firstRows.set(key, total);
      total += tokens;
    }
    const feeds: Record<string, Tensor> = {};
    this.options.family.features.forEach(({ name, width }, part) => {
      const data = new Float32Array(total * width);
      for (const [key, { parts }] of distinct) data.set(parts[part], firstRows.get(key)! * width);
      feeds[name] = tensor('float32', data, [total, width]);
    });
    return { firstRows, feeds, featureRows: total };
  }
}

/** Requested results of a pass: each one is copied out of the session. */
function fetchesOf(rows: readonly { wantsLogits?: boolean }[]): Record<string, null> {
  const wantsLogits = rows.some((row) => row.wantsLogits === true);
  return { probabilities: null, ...(wantsLogits ? { logits: null } : {}) };
}

function nextTokens({ probabilities, logits }: Feeds): NextTokens {
  return {
    probabilities: probabilities.data as Float32Array,
    ...(logits === undefined ? {} : { logits: logits.data as Float32Array }),
  };
}

async function buildSession(
  { family, weights, session, memory }: SamplerModelOptions,
  kind: Omit<SamplerOptions, 'kind' | 'parameters'>,
): Promise<SamplerSession> {
  const parameters = weights.parameters();
  const { graph, kv, states, parameterInputs } = family.buildForward({
    kind: 'sampler',
    parameters,
    weightsFirst: memory.location === 'cpu',
    ...kind,
  });
  const caches = kv.flatMap(({ key, value }) => [key, value]);
  const outputLocation = Object.fromEntries(caches.map(({ added }) => [added, memory.location]));
  return {
    session: await Session.create(graph, { ...session, outputLocation }),
    caches,
    states,
    weightNames: [...parameterInputs.keys()],
  };
}
