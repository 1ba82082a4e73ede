import type { PolicyLoss } from '@ui-rl/algorithms';
import { tensor, type DeviceMemory, type SessionOptions, type Tensor } from '@ui-rl/graph';
import {
  DROPOUT_SEED,
  type Family,
  type ParameterSource,
  type ProcessedImage,
  type TrainerBatch,
} from '@ui-rl/models';
import { chooseRunner, type GradientCheckpointing } from './choose-runner';
import { DropoutSeeds } from './dropout-seeds';
import { AccumulatedGradients } from './accumulated-gradients';
import type { Feeds, PassResult, PassRunner, Pause } from './pass-runner';
import { TOKEN_INPUTS, type ImageMode } from './trainer-graph';
import type { TrainSample } from './types';
import type { VisionEncoder } from './vision-encoder';
import type { WeightSet } from './weights';

export interface TrainerModelOptions {
  family: Family;
  vision: VisionEncoder;
  /** Whether the vision tower is trained; where it is frozen, its features come from the sampler's cache. */
  trainsVision: boolean;
  /** A fresh source for each graph. */
  parameters: () => ParameterSource;
  session: SessionOptions;
  memory: DeviceMemory;
  /** After parts of passes: lets generation have its turn. */
  pause: Pause;
  gradientCheckpointing: GradientCheckpointing;
  /** Decides what is dropped out. */
  seed: number;
}

/** Per selected token, [M] each, in the order of `TrainerBatch.selected`. */
export interface TokenData {
  oldLogp: Float32Array;
  advantage: Float32Array;
  weight: Float32Array;
}

/** Samples made ready for one pass. */
export interface Pass {
  mode: ImageMode;
  batch: TrainerBatch;
  images: ProcessedImage[];
}

/** Forward passes over sequences, with and without gradients. */
export class TrainerModel {
  private readonly choose: (mode: ImageMode, feeds: Feeds) => PassRunner;
  private readonly runners: readonly PassRunner[];
  private readonly dropoutSeeds: DropoutSeeds;
  private patchMemory: Float32Array = new Float32Array(0);

  constructor(private readonly options: TrainerModelOptions) {
    this.dropoutSeeds = new DropoutSeeds(options.seed);
    const { choose, runners } = chooseRunner(options, options.gradientCheckpointing);
    this.choose = choose;
    this.runners = runners;
  }

  /** Makes a pass ready. The pass prepared before must be done with: patches are written over its own. */
  prepare(samples: readonly TrainSample[]): Pass {
    const images = new Map<string, { index: number; image: ProcessedImage }>();
    for (const image of samples.flatMap((sample) => sample.images)) {
      if (!images.has(image.key)) images.set(image.key, { index: images.size, image });
    }
    const rows = samples.map((sample) => ({
      tokenIds: Array.from(sample.tokenIds),
      images: sample.images.map(({ key }) => images.get(key)!.index),
      mask: sample.mask,
      targets: sample.targets,
      temperature: sample.temperature !== undefined && sample.temperature > 0 ? sample.temperature : 1,
    }));
    const distinct = [...images.values()].map(({ image }) => image);
    const mode = distinct.length === 0 ? 'none' : this.options.trainsVision ? 'patches' : 'features';
    const batch = this.options.family.trainerFeeds(rows, distinct, {
      images: mode,
      memory: this.patchMemory,
    });
    const patches = batch.feeds.patches?.data as Float32Array | undefined;
    if (patches !== undefined && patches.length > this.patchMemory.length) this.patchMemory = patches;
    return { mode, images: distinct, batch };
  }

  /** Zeros to add the gradients of passes to. */
  accumulatedGradients(weights: WeightSet): Promise<AccumulatedGradients> {
    return AccumulatedGradients.create(weights, this.options.memory);
  }

  /** Loss and gradients of one pass, see `PassRunner.train`. */
  async train(
    weights: WeightSet,
    pass: Pass,
    loss: PolicyLoss,
    tokens: TokenData,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult> {
    const [oldLogp, advantage, weight] = TOKEN_INPUTS;
    const feeds = {
      ...(await this.feeds(weights, pass)),
      [oldLogp]: tensor('float32', tokens.oldLogp),
      [advantage]: tensor('float32', tokens.advantage),
      [weight]: tensor('float32', tokens.weight),
      [DROPOUT_SEED]: tensor('int64', [this.dropoutSeeds.next(weights.version)], []),
    };
    return this.choose(pass.mode, feeds).train(pass.mode, loss, feeds, accumulated);
  }

  /** Log-probabilities [M] of the selected tokens. */
  async score(weights: WeightSet, pass: Pass): Promise<Float32Array> {
    const feeds = await this.feeds(weights, pass);
    return this.choose(pass.mode, feeds).score(pass.mode, feeds);
  }

  async release(): Promise<void> {
    for (const runner of this.runners) await runner.release();
  }

  private async feeds(weights: WeightSet, pass: Pass): Promise<Record<string, Tensor>> {
    const { vision } = this.options;
    const { images, batch } = pass;
    const features =
      pass.mode === 'features' ? await vision.featureFeeds(weights, images, batch.featureRows) : {};
    return { ...batch.feeds, ...features, ...(await weights.feeds(this.options.memory)) };
  }
}
