import type { DeviceMemory, SessionOptions } from '@ui-rl/graph';
import {
  Parameters,
  type LoraPlan,
  type ModelFolder,
  type ParameterSource,
  type QuantizedWeights,
} from '@ui-rl/models';
import { SamplerModel } from '../generation/sampler-model';
import type { GradientCheckpointing } from '../passes/choose-runner';
import { Passes } from '../passes/passes';
import type { Pause } from '../passes/runner';
import { VisionEncoder } from '../vision/vision-encoder';
import { canMerge, MergedWeights, trainedWeights, type SamplingWeights } from '../weights/sampling-weights';
import { SPIN_BRIEFLY } from './spinning';

/** How weights enter a model's graphs: as constants, as inputs all of them, or constants with an adapter as inputs. */
export type WeightLayout = { mode: 'frozen' } | { mode: 'full' } | { mode: 'lora'; plan: LoraPlan };

/** What networks over the same base share. */
export interface NetworkParts {
  folder: ModelFolder;
  quantized: QuantizedWeights | undefined;
  session: SessionOptions;
  memory: DeviceMemory;
  /** Encodes images for all networks whose vision tower is not trained. */
  frozenVision: VisionEncoder;
  createVision(parameters: () => ParameterSource): VisionEncoder;
  rows: number;
  maxSequence: number;
  pause: Pause;
  gradientCheckpointing: GradientCheckpointing;
}

/** The sessions of all models with one layout of weights: those that sample and those that train. Made when first needed. */
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
      family: folder.family,
      vision: this.vision,
      trainsVision,
      parameters,
      session: { ...session, ...SPIN_BRIEFLY },
      memory,
      pause,
      gradientCheckpointing,
    });
  }

  /** What samples from weights of this layout. */
  sampler(): Promise<SamplerModel> {
    this.sampling ??= this.createSampler().catch((error: unknown) => {
      this.sampling = undefined;
      throw error;
    });
    return this.sampling;
  }

  /** The same, where something was sampled already. */
  async madeSampler(): Promise<SamplerModel | undefined> {
    return this.sampling;
  }

  async release(): Promise<void> {
    await (await this.sampling)?.release();
    await this.passes.release();
    if (this.vision !== this.parts.frozenVision) await this.vision.release();
  }

  private async createSampler(): Promise<SamplerModel> {
    const { folder, quantized, session, memory, rows, maxSequence } = this.parts;
    return SamplerModel.create({
      family: folder.family,
      vision: this.vision,
      weights: await this.samplingWeights(),
      stopTokenIds: new Set(folder.tokenizer.eosTokenIds),
      // Only from packed copies are products of 4-bit weights fast.
      session: quantized?.kind === 'int4' ? { ...session, disablePrepacking: false } : session,
      memory,
      rows,
      capacity: maxSequence,
    });
  }

  private async samplingWeights(): Promise<SamplingWeights> {
    const { layout } = this;
    const { folder, quantized, session, memory } = this.parts;
    if (layout.mode === 'lora' && quantized === undefined && canMerge(layout.plan)) {
      return MergedWeights.create(folder.weights, layout.plan, session, memory);
    }
    return trainedWeights(() => this.parameters(true), memory);
  }

  private parameters(packed = false): ParameterSource {
    const { layout } = this;
    const { folder, quantized } = this.parts;
    return new Parameters({
      weights: folder.weights,
      inputs: layout.mode === 'full' ? 'all' : 'none',
      ...(layout.mode === 'lora' ? { lora: layout.plan } : {}),
      quantized,
      packed,
    });
  }
}

/** Equal for layouts that give equal graphs. */
export function layoutKey(layout: WeightLayout): string {
  if (layout.mode !== 'lora') return layout.mode;
  const { config, modules } = layout.plan;
  const shapes = modules.map(({ name, rank, scale }) => `${name} ${rank} ${scale}`);
  return ['lora', config.dropout, ...shapes].join('\n');
}

function reachesVision(layout: WeightLayout): boolean {
  if (layout.mode === 'lora') return layout.plan.modules.some(({ part }) => part === 'vision');
  return layout.mode === 'full';
}
