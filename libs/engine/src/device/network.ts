import type { DeviceMemory, SessionOptions } from '@ui-rl/graph';
import {
  isOfValueHead,
  Parameters,
  type LoraPlan,
  type ModelFolder,
  type ParameterSource,
  type QuantizedWeights,
} from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import { SamplerModel } from '../generation/sampler-model';
import type { TokenGrammars } from '../grammar/token-grammar';
import type { GradientCheckpointing } from '../passes/choose-runner';
import { Passes } from '../passes/passes';
import type { Pause } from '../passes/runner';
import { VisionEncoder } from '../vision/vision-encoder';
import { canMerge, MergedWeights, trainedWeights, type SamplingWeights } from '../weights/sampling-weights';
import type { WeightSet } from '../weights/weight-set';
import { trainingSession } from './base';

/**
 * How weights enter a model's graphs: all as constants, all as inputs, or as constants with an adapter as inputs; for
 * a critic also its value head.
 */
export type WeightLayout =
  | { mode: 'frozen' }
  | { mode: 'full' }
  | { mode: 'lora'; plan: LoraPlan }
  | { mode: 'critic'; plan: LoraPlan };

/** The adapter plan of a layout, if any. */
export function planOf(layout: WeightLayout): LoraPlan | undefined {
  return 'plan' in layout ? layout.plan : undefined;
}

/** Resources shared by networks over the same base. */
export interface NetworkParts {
  folder: ModelFolder;
  quantized: QuantizedWeights | undefined;
  session: SessionOptions;
  memory: DeviceMemory;
  /** Encodes images for all networks with a frozen vision tower. */
  frozenVision: VisionEncoder;
  grammars: TokenGrammars;
  createVision(parameters: () => ParameterSource): VisionEncoder;
  rows: number;
  maxSequence: number;
  pause: Pause;
  gradientCheckpointing: GradientCheckpointing;
}

/** The sampling and training sessions of all models with one weight layout, created on first use. */
export class Network {
  readonly passes: Passes;
  private readonly vision: VisionEncoder;
  private sampling: Promise<SamplerModel> | undefined;

  constructor(
    readonly layout: WeightLayout,
    private readonly parts: NetworkParts,
  ) {
    const { folder, session, memory, pause, gradientCheckpointing } = parts;
    const trainsVision = reachesVision(layout);
    const parameters = (): ParameterSource => this.parameters();
    this.vision = trainsVision ? parts.createVision(parameters) : parts.frozenVision;
    this.passes = new Passes({
      role: this.role,
      family: folder.family,
      vision: this.vision,
      trainsVision,
      parameters,
      session: trainingSession(session, folder),
      memory,
      pause,
      gradientCheckpointing,
    });
  }

  get role(): LossModel {
    return this.layout.mode === 'critic' ? 'critic' : 'policy';
  }

  /** Throws an `EngineError` of category `request` if weights of this layout belong to a critic. */
  mustSample(): void {
    if (this.role === 'policy') return;
    throw new EngineError('request', 'a critic gives values, no tokens: it cannot be sampled from');
  }

  /** The sampler for weights of this layout; see `mustSample`. */
  async sampler(): Promise<SamplerModel> {
    this.mustSample();
    this.sampling ??= this.createSampler().catch((error: unknown) => {
      this.sampling = undefined;
      throw error;
    });
    return this.sampling;
  }

  /** The sampler if it already exists. */
  async madeSampler(): Promise<SamplerModel | undefined> {
    return this.sampling;
  }

  /** Drops caches of weights that can no longer be requested. */
  forget(weights: WeightSet): void {
    this.vision.forget(weights);
  }

  async release(): Promise<void> {
    await (await this.sampling)?.release();
    await this.passes.release();
    if (this.vision !== this.parts.frozenVision) await this.vision.release();
  }

  private async createSampler(): Promise<SamplerModel> {
    const { folder, grammars, quantized, session, memory, rows, maxSequence } = this.parts;
    return SamplerModel.create({
      family: folder.family,
      vision: this.vision,
      weights: await this.samplingWeights(),
      stopTokenIds: new Set(folder.tokenizer.eosTokenIds),
      grammars,
      // Products of 4-bit weights are fast only from packed copies.
      session: quantized?.kind === 'int4' ? { ...session, disablePrepacking: false } : session,
      memory,
      rows,
      capacity: maxSequence,
    });
  }

  private async samplingWeights(): Promise<SamplingWeights> {
    const { layout } = this;
    const { folder, quantized, session, memory } = this.parts;
    // An adapter's change per step is below the last bit of a float16 weight.
    const merges = quantized === undefined && session.halfProducts !== true;
    if (layout.mode === 'lora' && merges && canMerge(layout.plan)) {
      return MergedWeights.create(folder.weights, layout.plan, session, memory);
    }
    return trainedWeights(() => this.parameters(true), memory);
  }

  private parameters(packed = false): ParameterSource {
    const { layout } = this;
    const { folder, quantized } = this.parts;
    const lora = planOf(layout);
    return new Parameters({
      weights: folder.weights,
      inputs: layout.mode === 'full' ? 'all' : isOfValueHead,
      lora,
      quantized,
      packed,
    });
  }
}

/** Equal for layouts with equal graphs. */
export function layoutKey(layout: WeightLayout): string {
  const plan = planOf(layout);
  if (plan === undefined) return layout.mode;
  const { config, modules } = plan;
  const shapes = modules.map(({ name, rank, scale }) => `${name} ${rank} ${scale}`);
  return [layout.mode, config.dropout, ...shapes].join('\n');
}

function reachesVision(layout: WeightLayout): boolean {
  const plan = planOf(layout);
  return plan === undefined ? layout.mode === 'full' : plan.modules.some(({ part }) => part === 'vision');
}
