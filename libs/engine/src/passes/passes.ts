import { tensor, type DeviceMemory, type SessionOptions, type Tensor } from '@ui-rl/graph';
import {
  DROPOUT_SEED,
  type Family,
  type Pack,
  type ParameterSource,
  type ProcessedImage,
  type TrainerBatch,
} from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import type { Feeds } from '../feeds';
import type { AccumulatedGradients } from '../training/accumulated-gradients';
import type { TrainingDatum } from '../training/data';
import type { VisionEncoder } from '../vision/vision-encoder';
import type { WeightSet } from '../weights/weight-set';
import { chooseRunner, type GradientCheckpointing } from './choose-runner';
import { cutFeeds } from './cut-feeds';
import { imagesOf, type ImageMode, type PassMode } from './graphs';
import type { Loss } from './objective';
import type { PassResult, PassRunner, Pause } from './runner';

export interface PassesOptions {
  role: LossModel;
  family: Family;
  vision: VisionEncoder;
  /** Whether the vision tower is trained; features of a frozen one come from the sampler's cache. */
  trainsVision: boolean;
  /** Creates a source for each graph. */
  parameters: () => ParameterSource;
  session: SessionOptions;
  memory: DeviceMemory;
  /** Called after parts of passes to let generation run. */
  pause: Pause;
  gradientCheckpointing: GradientCheckpointing;
}

/** Prepared data of one pass. */
export interface Pass {
  mode: PassMode;
  batch: TrainerBatch;
  images: ProcessedImage[];
}

/** Training inputs of a pass. */
export interface PassTraining {
  loss: Loss;
  /** Inputs of the loss. */
  lossFeeds: Feeds;
  /** Selects the dropout masks. */
  dropoutSeed: number;
  accumulated: AccumulatedGradients;
}

/** Forward passes over sequences, with and without gradients. */
export class Passes {
  private readonly choose: (mode: PassMode, feeds: Feeds) => PassRunner;
  private readonly runners: readonly PassRunner[];
  private patchMemory: Float32Array = new Float32Array(0);

  constructor(private readonly options: PassesOptions) {
    const { choose, runners } = chooseRunner(options, options.gradientCheckpointing);
    this.choose = choose;
    this.runners = runners;
  }

  get family(): Family {
    return this.options.family;
  }

  /**
   * Prepares a pass. Finish the previous one first, because its patches are overwritten.
   * @param packs of `data`, see `TrainerFeedOptions.packs`
   */
  prepare(data: readonly TrainingDatum[], packs?: readonly Pack[]): Pass {
    const images = new Map<string, { index: number; image: ProcessedImage }>();
    for (const image of data.flatMap((datum) => datum.images)) {
      if (!images.has(image.key)) images.set(image.key, { index: images.size, image });
    }
    const rows = data.map((datum) => ({
      tokenIds: Array.from(datum.tokenIds),
      images: datum.images.map(({ key }) => images.get(key)!.index),
      targets: datum.targets,
      selected: datum.weights,
      temperature: datum.temperature,
    }));
    const distinct = [...images.values()].map(({ image }) => image);
    const shown: ImageMode =
      distinct.length === 0 ? 'none' : this.options.trainsVision ? 'patches' : 'features';
    const batch = this.options.family.trainerFeeds(rows, distinct, {
      images: shown,
      packs,
      memory: this.patchMemory,
    });
    const patches = batch.feeds.patches?.data as Float32Array | undefined;
    if (patches !== undefined && patches.length > this.patchMemory.length) this.patchMemory = patches;
    const cut = cutFeeds(batch.selected.map(({ row, position }) => data[row].keptTokens?.[position]));
    const mode: PassMode = `${shown}${cut === undefined ? '' : ' cut'}${packs === undefined ? '' : ' packed'}`;
    return { mode, images: distinct, batch: { ...batch, feeds: { ...batch.feeds, ...cut } } };
  }

  /** Loss and gradients of one pass, see `PassRunner.train`. */
  async train(
    weights: WeightSet,
    pass: Pass,
    { loss, lossFeeds, dropoutSeed, accumulated }: PassTraining,
  ): Promise<PassResult> {
    const feeds = {
      ...(await this.feeds(weights, pass)),
      ...lossFeeds,
      [DROPOUT_SEED]: tensor('int64', [dropoutSeed], []),
    };
    return this.choose(pass.mode, feeds).train(pass.mode, loss, feeds, accumulated);
  }

  /** Scores [M] of the selected tokens, see `PassResult`. */
  async score(weights: WeightSet, pass: Pass): Promise<Float32Array> {
    const feeds = await this.feeds(weights, pass);
    return this.choose(pass.mode, feeds).score(pass.mode, feeds);
  }

  async release(): Promise<void> {
    for (const runner of this.runners) await runner.release();
  }

  private async feeds(weights: WeightSet, pass: Pass): Promise<Record<string, Tensor>> {
    const { vision, memory } = this.options;
    const { images, batch } = pass;
    const features =
      imagesOf(pass.mode) === 'features' ? await vision.featureFeeds(weights, images, batch.featureRows) : {};
    return { ...batch.feeds, ...features, ...(await weights.feeds(memory)) };
  }
}
