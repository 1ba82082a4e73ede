import type { PolicyLoss } from '@ui-rl/algorithms';
import { Session, tensor, type SessionOptions, type Tensor } from '@ui-rl/graph';
import type { Family, ParameterSource, ProcessedImage, TrainerBatch } from '@ui-rl/models';
import {
  buildScoringGraph,
  buildTrainingGraph,
  gradientName,
  sumName,
  TOKEN_INPUTS,
  type ImageMode,
} from './trainer-graph';
import type { TrainSample } from './types';
import { deepstackName, IMAGE_FEATURES, type VisionEncoder } from './vision-encoder';
import { feedsOf, type WeightSet } from './weights';

export interface TrainerModelOptions {
  family: Family;
  vision: VisionEncoder;
  /** Whether the vision tower is trained; where it is frozen, its features come from the sampler's cache. */
  trainsVision: boolean;
  /** A fresh source for each graph. */
  parameters: () => ParameterSource;
  session: SessionOptions;
}

/** Per selected token, [M] each, in the order of `TrainerBatch.selected`. */
export interface TokenData {
  oldLogp: Float32Array;
  advantage: Float32Array;
  weight: Float32Array;
}

export interface PassResult {
  loss: number;
  logp: Float32Array;
  entropy: Float32Array;
}

interface PreparedSession {
  session: Session;
  weightNames: string[];
}

/** Samples made ready for one pass. */
export interface Pass {
  mode: ImageMode;
  batch: TrainerBatch;
  images: ProcessedImage[];
}

/** The whole forward pass over sequences, with and without gradients. Sessions are made when first needed. */
export class TrainerModel {
  private readonly sessions = new Map<string, Promise<PreparedSession>>();
  private patchMemory: Float32Array = new Float32Array(0);

  constructor(private readonly options: TrainerModelOptions) {}

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

  /**
   * Loss and gradients of one pass, added to `sums`, the gradients so far by weight name. Arrays in it are replaced, not
   * changed; those of weights that the pass does not reach stay.
   */
  async train(
    weights: WeightSet,
    pass: Pass,
    loss: PolicyLoss,
    tokens: TokenData,
    sums: Map<string, Float32Array>,
  ): Promise<PassResult> {
    const { session, weightNames } = await this.sessionOf(pass.mode, loss);
    const count = pass.batch.selected.length;
    const [oldLogp, advantage, weight] = TOKEN_INPUTS;
    const before: Record<string, Tensor> = {};
    for (const name of weightNames) {
      before[sumName(name)] = tensor('float32', sums.get(name)!, weights.tensors.get(name)!.shape);
    }
    const outputs = await session.run({
      ...(await this.feeds(weights, pass, weightNames)),
      ...before,
      [oldLogp]: tensor('float32', tokens.oldLogp, [count]),
      [advantage]: tensor('float32', tokens.advantage, [count]),
      [weight]: tensor('float32', tokens.weight, [count]),
    });
    for (const name of weightNames) sums.set(name, outputs[gradientName(name)].data as Float32Array);
    return {
      loss: Number(outputs.loss.data[0]),
      logp: outputs.logp.data as Float32Array,
      entropy: outputs.entropy.data as Float32Array,
    };
  }

  /** Log-probabilities [M] of the selected tokens. */
  async score(weights: WeightSet, pass: Pass): Promise<Float32Array> {
    const { session, weightNames } = await this.sessionOf(pass.mode, undefined);
    const outputs = await session.run(await this.feeds(weights, pass, weightNames));
    return outputs.logp.data as Float32Array;
  }

  async release(): Promise<void> {
    for (const prepared of this.sessions.values()) await (await prepared).session.release();
    this.sessions.clear();
  }

  private async feeds(
    weights: WeightSet,
    pass: Pass,
    weightNames: string[],
  ): Promise<Record<string, Tensor>> {
    const features = pass.mode === 'features' ? await this.features(weights, pass) : {};
    return { ...pass.batch.feeds, ...features, ...feedsOf(weights, weightNames) };
  }

  /** Features of a pass's images, each from its first row on. */
  private async features(weights: WeightSet, { images, batch }: Pass): Promise<Record<string, Tensor>> {
    const { hiddenSize, deepstack } = this.options.family.shape;
    const encoded = await this.options.vision.encode(weights, images);
    const rows = batch.featureRows.reduce((sum, count) => sum + count, 0);
    const stack = (parts: Float32Array[]): Tensor => {
      const data = new Float32Array(rows * hiddenSize);
      let next = 0;
      parts.forEach((part, index) => {
        data.set(part, next * hiddenSize);
        next += batch.featureRows[index];
      });
      return tensor('float32', data, [rows, hiddenSize]);
    };
    const feeds: Record<string, Tensor> = {
      [IMAGE_FEATURES]: stack(encoded.map(({ features }) => features)),
    };
    for (let layer = 0; layer < deepstack; layer += 1) {
      feeds[deepstackName(layer)] = stack(encoded.map((each) => each.deepstack[layer]));
    }
    return feeds;
  }

  private sessionOf(mode: ImageMode, loss: PolicyLoss | undefined): Promise<PreparedSession> {
    const key = `${mode} ${JSON.stringify(loss ?? null)}`;
    let prepared = this.sessions.get(key);
    if (prepared === undefined) {
      prepared = this.build(mode, loss);
      this.sessions.set(key, prepared);
    }
    return prepared;
  }

  private async build(mode: ImageMode, loss: PolicyLoss | undefined): Promise<PreparedSession> {
    const { family, session: options } = this.options;
    const parameters = this.options.parameters();
    const graph =
      loss === undefined
        ? buildScoringGraph(family, parameters, mode)
        : buildTrainingGraph(family, parameters, mode, loss).graph;
    return { session: await Session.create(graph, options), weightNames: [...parameters.inputs.keys()] };
  }
}
