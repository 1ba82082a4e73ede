import { availableParallelism } from 'node:os';
import { deviceMemory, type DeviceMemory, type SessionOptions } from '@ui-rl/graph';
import {
  defaultCacheDir,
  loadModelFolder,
  matricesOf,
  Parameters,
  planLora,
  type LoraPlan,
  type ModelFolder,
  QuantizedWeights,
  type ParameterSource,
  type QuantizableWeight,
} from '@ui-rl/models';
import { Checkpoints } from './checkpoints';
import { EngineError } from './errors';
import { Generator } from './generator';
import { makeOptimizer } from './optimizer';
import { SamplerModel } from './sampler-model';
import { canMerge, MergedWeights, trainedWeights } from './sampling-weights';
import { shareReporter, type ProgressReporter } from './progress';
import { SPIN_BRIEFLY } from './spinning';
import { Trainer } from './trainer';
import { TrainerModel } from './trainer-model';
import { initialWeights } from './trainable';
import type { EngineInfo, EngineOptions, GenerateRequest, GenerateResult } from './types';
import { VisionEncoder } from './vision-encoder';
import { WeightSet } from './weights';

const FEATURE_CACHE_BYTES = 256 * 1024 * 1024;
// Passes of a size whose activations stay in the caches of a small model.
const VISION_PASS_PATCHES = 4096;
const PREFILL_TOKENS = 2048;
const LARGE_MODEL = 500_000_000;

/** A model on a device: what samples from it and what trains it, over the same weights. */
export class DeviceModel {
  private constructor(
    private readonly folder: ModelFolder,
    private readonly options: EngineOptions,
    private readonly plan: LoraPlan | undefined,
    private readonly vision: VisionEncoder,
    private readonly sampler: SamplerModel,
    private readonly trainerModel: TrainerModel,
    private readonly generator: Generator,
    readonly trainer: Trainer,
    readonly checkpoints: Checkpoints,
    private readonly memory: DeviceMemory,
  ) {}

  static async create(options: EngineOptions, onProgress: ProgressReporter): Promise<DeviceModel> {
    checkOptions(options);
    const folder = await loadModelFolder(options.modelDir, {
      ...(options.weights === undefined ? {} : { weights: options.weights }),
      ...(options.cacheDir === undefined ? {} : { cacheDir: options.cacheDir }),
      onProgress: shareReporter(onProgress, `a copy of the weights in ${typeName(options.weights)} is made`),
    });
    const { family, weights } = folder;
    const { trainable } = options;
    const plan = trainable.mode === 'lora' ? planLora(family, trainable.lora) : undefined;
    const quantized = await quantize(folder, options, onProgress);
    const parameters = (packed = false): ParameterSource =>
      new Parameters({
        weights,
        inputs: trainable.mode === 'full' ? 'all' : 'none',
        lora: plan,
        quantized,
        packed,
      });
    const session: SessionOptions = {
      device: options.device,
      threads: options.threads ?? availableParallelism(),
      // Each session has threads of its own: idle ones that spin would take the cores from the one that works.
      spinning: false,
      arena: !isLarge(folder),
    };
    const memory = deviceMemory(options.device);
    const deterministic = options.deterministic ?? false;
    const vision = await VisionEncoder.create(family, () => parameters(), {
      session,
      memory,
      alone: deterministic,
      patches: VISION_PASS_PATCHES,
      cacheBytes: FEATURE_CACHE_BYTES,
    });
    const sampler = await SamplerModel.create({
      family,
      vision,
      weights:
        plan !== undefined && quantized === undefined && canMerge(plan)
          ? await MergedWeights.create(weights, plan, session, memory)
          : trainedWeights(() => parameters(true), memory),
      stopTokenIds: new Set(folder.tokenizer.eosTokenIds),
      // Only from packed copies are products of 4-bit weights fast.
      session: quantized?.kind === 'int4' ? { ...session, disablePrepacking: false } : session,
      memory,
      rows: options.maxRows,
      capacity: options.maxSequence,
    });
    const { maxRows, maxSequence } = options;
    const generator = new Generator(sampler, {
      maxRows,
      maxSequence,
      deterministic,
      prefillTokens: PREFILL_TOKENS,
    });
    const trainsVision =
      trainable.mode === 'full' || plan?.modules.some(({ part }) => part === 'vision') === true;
    const trainerModel = new TrainerModel({
      family,
      vision,
      trainsVision,
      parameters: () => parameters(),
      session: { ...session, ...SPIN_BRIEFLY },
      memory,
      pause: (workedMs) => generator.share(workedMs),
      gradientCheckpointing: options.gradientCheckpointing ?? 'auto',
      seed: options.seed,
    });
    const optimizer = makeOptimizer(options.optimizer ?? {}, memory);
    const trainer = new Trainer(trainerModel, optimizer, options.microBatch ?? {});
    const checkpoints = new Checkpoints(folder, plan, optimizer);
    return new DeviceModel(
      folder,
      options,
      plan,
      vision,
      sampler,
      trainerModel,
      generator,
      trainer,
      checkpoints,
      memory,
    );
  }

  get familyName(): string {
    return this.folder.family.name;
  }

  initialWeights(): Promise<WeightSet> {
    const { trainable, seed } = this.options;
    if (trainable.mode === 'lora' && trainable.adapterDir !== undefined) {
      return this.checkpoints.load(trainable.adapterDir, { optimizer: false });
    }
    if (trainable.mode === 'frozen') return Promise.resolve(new WeightSet(0, new Map()));
    return initialWeights(this.folder, this.plan, seed);
  }

  generate(weights: WeightSet, request: GenerateRequest): Promise<GenerateResult> {
    return this.generator.generate(weights, request);
  }

  /** Whether responses are being sampled with these weights. */
  samples(weights: WeightSet): boolean {
    return this.generator.uses(weights);
  }

  load(): Pick<EngineInfo, 'rowsActive' | 'rowsWaiting' | 'generatedTokens' | 'sharedPrompts' | 'times'> {
    const { rowsActive, rowsWaiting, generatedTokens, sharedPrompts } = this.generator;
    return {
      rowsActive,
      rowsWaiting,
      generatedTokens,
      sharedPrompts,
      times: { ...this.sampler.times, trainMs: this.trainer.trainMs },
    };
  }

  async release(): Promise<void> {
    await this.trainer.release();
    await this.sampler.release();
    await this.trainerModel.release();
    await this.vision.release();
    await this.memory.release();
  }
}

function typeName(type: EngineOptions['weights'] = 'auto'): string {
  // Where `auto` makes a copy, that is float32.
  return type === 'auto' ? 'fp32' : type;
}

/** Linear layers in few bits, where that is wanted. Routers stay as they are stored: their choices would tip. */
function quantize(
  { family, weights }: ModelFolder,
  { quantization = 'none', cacheDir = defaultCacheDir() }: EngineOptions,
  onProgress: ProgressReporter,
): Promise<QuantizedWeights | undefined> {
  if (quantization === 'none') return Promise.resolve(undefined);
  const matrices = family
    .linears()
    .filter(({ group }) => group !== 'router')
    .flatMap(({ name, inFeatures, outFeatures, stack }): QuantizableWeight[] =>
      stack === undefined
        ? [{ name: `${name}.weight`, shape: [outFeatures, inFeatures] }]
        : matricesOf(name, [stack.count, outFeatures, inFeatures]),
    );
  const onShare = shareReporter(onProgress, `a copy of the weights in ${quantization} is made`);
  return QuantizedWeights.open(weights, matrices, quantization, cacheDir, onShare);
}

/** Whether many sessions that each keep the memory of their last pass would take gigabytes: from half a billion weights on. */
function isLarge({ family }: ModelFolder): boolean {
  const sizes = family.parameters().map(({ shape }) => shape.reduce((a, b) => a * b, 1));
  return sizes.reduce((a, b) => a + b, 0) >= LARGE_MODEL;
}

function checkOptions({ maxRows, maxSequence, trainable, quantization = 'none' }: EngineOptions): void {
  if (quantization !== 'none' && trainable.mode === 'full') {
    throw new EngineError(
      'request',
      `quantization is ${quantization}, but all weights are trained; quantize only the frozen base of an adapter`,
    );
  }
  for (const [name, value] of Object.entries({ maxRows, maxSequence })) {
    if (!Number.isInteger(value) || value < 1) {
      throw new EngineError('request', `${name} is ${value}, expected a whole number of at least 1`);
    }
  }
}
