import { deviceMemory, DeviceWeights, type DeviceMemory } from '@ui-rl/graph';
import { planLora, Parameters, type ParameterSource } from '@ui-rl/models';
import type { TrainedModel } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import { CACHE_MEMORY_MB, CacheMemory } from '../caches/cache-memory';
import { PrefixCache } from '../caches/prefix-cache';
import { Generator, PREFILL_TOKENS } from '../generation/generator';
import { TokenGrammars } from '../grammar/token-grammar';
import type { ProgressReporter } from '../progress';
import { VisionEncoder } from '../vision/vision-encoder';
import type { WeightSet } from '../weights/weight-set';
import type { WorkerOptions } from '../worker-api';
import { openBase, sessionOptions, type Base } from './base';
import { layoutKey, Network, type NetworkParts, type WeightLayout } from './network';

// Passes of this size keep the activations of a small model in the CPU caches.
const VISION_PASS_PATCHES = 4096;

/** A base model on a device, with the networks and the generator that share it. */
export class Device {
  private readonly networks = new Map<string, Network>();

  private constructor(
    readonly base: Base,
    readonly memory: DeviceMemory,
    readonly generator: Generator,
    readonly caches: CacheMemory,
    private readonly prefixes: PrefixCache,
    private readonly parts: NetworkParts,
    /** frozen weights in device memory, if the device has its own */
    private readonly weights: DeviceWeights | undefined,
  ) {}

  static async open(options: WorkerOptions, onProgress: ProgressReporter): Promise<Device> {
    checkOptions(options);
    const base = await openBase(options, onProgress);
    const { maxRows, maxSequence, deterministic } = options;
    const memory = deviceMemory(options.device);
    const weights = memory.location === 'cpu' ? undefined : new DeviceWeights(memory);
    const session = sessionOptions(base, { ...options, constants: weights });
    const caches = new CacheMemory((options.cacheMemoryMb ?? CACHE_MEMORY_MB) * 2 ** 20);
    const prefixes = new PrefixCache(options.sharePrefixes === false ? new CacheMemory(0) : caches);
    const lanes = { maxRows, maxSequence, deterministic, prefillTokens: PREFILL_TOKENS };
    const generator = new Generator(lanes, prefixes);
    const { folder, quantized } = base;
    const createVision = (parameters: () => ParameterSource): VisionEncoder =>
      new VisionEncoder(folder.family, parameters, {
        session,
        memory,
        alone: deterministic,
        patches: VISION_PASS_PATCHES,
        caches,
      });
    const parts: NetworkParts = {
      folder,
      quantized,
      session,
      memory,
      frozenVision: createVision(() => new Parameters({ weights: folder.weights, quantized })),
      createVision,
      grammars: new TokenGrammars(() => folder.tokenizer.tokenBytes()),
      rows: maxRows,
      maxSequence,
      pause: (workedMs) => generator.share(workedMs),
      gradientCheckpointing: options.gradientCheckpointing ?? 'auto',
    };
    return new Device(base, memory, generator, caches, prefixes, parts, weights);
  }

  layoutOf({ name, role, trainable }: TrainedModel): WeightLayout {
    if (trainable.mode === 'lora') {
      const plan = planLora(this.base.folder.family, trainable.lora);
      return { mode: role === 'critic' ? 'critic' : 'lora', plan };
    }
    if (role === 'policy') return { mode: trainable.mode };
    throw new EngineError(
      'request',
      `${name} is a critic with the mode ${trainable.mode}; expected lora: a critic is an adapter and a head over the frozen weights`,
    );
  }

  /** The network of a layout; models with equal layouts share one. */
  network(layout: WeightLayout): Network {
    const key = layoutKey(layout);
    let network = this.networks.get(key);
    if (network === undefined) {
      network = new Network(layout, this.parts);
      this.networks.set(key, network);
    }
    return network;
  }

  /** Drops caches of weights that can no longer be requested. */
  forget(weights: WeightSet): void {
    this.prefixes.forget(weights);
    for (const network of this.networks.values()) network.forget(weights);
  }

  /** Milliseconds of sampling by part, and the number of decoding iterations. */
  async samplingTimes(): Promise<Record<'decodeMs' | 'decodeIterations' | 'prefillMs' | 'visionMs', number>> {
    const sum = { decodeMs: 0, decodeIterations: 0, prefillMs: 0, visionMs: 0 };
    for (const network of this.networks.values()) {
      const times = (await network.madeSampler())?.times;
      if (times === undefined) continue;
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += times[name];
    }
    return sum;
  }

  async release(): Promise<void> {
    this.caches.clear();
    for (const network of this.networks.values()) await network.release();
    await this.parts.frozenVision.release();
    await this.weights?.release();
    await this.memory.release();
  }
}

function checkOptions({
  maxRows,
  maxSequence,
  models,
  quantization = 'none',
  compute = 'fp32',
}: WorkerOptions): void {
  const full = models.find(({ trainable }) => trainable.mode === 'full');
  if (quantization !== 'none' && full !== undefined) {
    throw new EngineError(
      'request',
      `quantization is ${quantization}, but all weights are trained; quantize only the frozen base of an adapter`,
    );
  }
  if (compute !== 'fp32' && full !== undefined) {
    throw new EngineError(
      'request',
      `compute is ${compute}, but all weights are trained; only the frozen base of an adapter is multiplied in fp16`,
    );
  }
  for (const [name, value] of Object.entries({ maxRows, maxSequence })) {
    if (!Number.isInteger(value) || value < 1) {
      throw new EngineError('request', `${name} is ${value}, expected a whole number of at least 1`);
    }
  }
}
