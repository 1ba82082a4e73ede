import { ops, Session, tensor, type Graph, type Tensor, type Value } from '@ui-rl/graph';
import { type FloatTensor, type ImageInput, type ModelFolder, Parameters } from '@ui-rl/models';
import { normals, seedFor } from '@ui-rl/random';
import { GradientSession, type GradientSums } from '../gradient-session';
import { TrainedWeights, type TrainingDevice, type TrainingOptions } from '../trained-weights';
import { type Head, headBias, headLogProbs, headWeight } from './heads';
import type { Targets } from './targets';

/** A screen as input of the reader. All screens of a pass have the same size. */
export interface ReadScreen {
  image: ImageInput;
  targets: Targets;
}

/** Mean negative log-probability by head: of non-empty targets, and the share of "nothing". */
export type ReadingLosses = Record<string, number>;

const VISION = 'model.visual.';
const ROWS: Record<TrainingDevice, number> = { cpu: 8, webgpu: 256 };
/** Steps during which the weight of empty targets rises to that of all others. */
const BALANCED_STEPS = 4000;
/** Maximum total weight of empty targets, relative to 1 for all others: most heads have almost only empty targets. */
const MOST_NOTHING = 4;

/** Normalization of the patches' hidden states for the heads that classify them. */
const PATCH_NORM = { weight: 'heads.norm.weight', bias: 'heads.norm.bias', epsilon: 1e-6 };

/** The vision weights of a model with new heads on its features, for training. */
export async function readingWeights(
  { family, weights: stored }: ModelFolder,
  heads: readonly Head[],
  seed: number,
  options?: TrainingOptions,
): Promise<TrainedWeights> {
  const weights = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters()) {
    if (!name.startsWith(VISION)) continue;
    weights.set(name, { shape: [...shape], data: await stored.read(name, shape) });
  }
  for (const head of heads) {
    const width = widthOf(head, family);
    const outputs = head.count * head.classes;
    const data = normals(outputs * width, Math.sqrt(2 / (5 * width)), seedFor(headWeight(head), seed));
    weights.set(headWeight(head), { shape: [outputs, width], data });
    weights.set(headBias(head), { shape: [outputs], data: new Float32Array(outputs) });
  }
  const width = patchWidth(family);
  weights.set(PATCH_NORM.weight, { shape: [width], data: new Float32Array(width).fill(1) });
  weights.set(PATCH_NORM.bias, { shape: [width], data: new Float32Array(width) });
  return TrainedWeights.create(weights, options);
}

function widthOf({ level }: Head, family: ModelFolder['family']): number {
  return level === 'token' ? family.shape.hiddenSize : patchWidth(family);
}

/** Hidden size of the vision tower. */
function patchWidth(family: ModelFolder['family']): number {
  return family.parameters().find(({ name }) => name === `${VISION}patch_embed.proj.bias`)!.shape[0];
}

/**
 * The vision tower with classification heads on its features: every image token predicts the characters and the
 * element it shows. Runs without the decoder.
 */
export class Reader {
  private training: Promise<GradientSession> | undefined;
  private prediction: Promise<Session> | undefined;

  constructor(
    private readonly folder: ModelFolder,
    readonly heads: readonly Head[],
    readonly trained: TrainedWeights,
    /** Maximum screens per pass. */
    private readonly rows = ROWS[trained.device],
  ) {}

  /** Adds the gradients of the loss over screens of one size to `sums`. */
  async accumulate(screens: readonly ReadScreen[], sums: GradientSums): Promise<ReadingLosses> {
    this.training ??= this.prepareTraining();
    const session = await this.training;
    const balance = Math.max(0, 1 - this.trained.steps / BALANCED_STEPS);
    const scales = lossScales(screens, this.heads, balance);
    const losses: ReadingLosses = {};
    for (let first = 0; first < screens.length; first += this.rows) {
      const part = screens.slice(first, first + this.rows);
      const feeds = {
        ...this.visionFeeds(part.map(({ image }) => image)),
        ...this.trained.feeds(),
        ...targetFeeds(part, this.heads, scales),
      };
      const outputs = await session.run(feeds, sums);
      for (const head of this.heads) {
        const { name } = head;
        const [loss] = outputs[`loss ${name}`].data as Float32Array;
        losses[name] = (losses[name] ?? 0) + loss / weightOf(head, balance);
      }
    }
    return losses;
  }

  /** The most probable classes by head with the averages of the weights, in the layout of `Targets`. */
  async predict(images: readonly ImageInput[]): Promise<Targets[]> {
    this.prediction ??= this.preparePrediction();
    const session = await this.prediction;
    const results: Targets[] = [];
    for (let first = 0; first < images.length; first += this.rows) {
      const part = images.slice(first, first + this.rows);
      const outputs = await session.run({ ...this.visionFeeds(part), ...this.trained.averageFeeds() });
      part.forEach((_, index) => {
        const entries = this.heads.map(({ name }) => {
          const all = outputs[name].data as BigInt64Array;
          const size = all.length / part.length;
          return [name, Int32Array.from(all.subarray(index * size, (index + 1) * size), Number)] as const;
        });
        results.push(Object.fromEntries(entries));
      });
    }
    return results;
  }

  async release(): Promise<void> {
    await (await this.training)?.release();
    await (await this.prediction)?.release();
  }

  private visionFeeds(images: readonly ImageInput[]): Readonly<Record<string, Tensor>> {
    return this.folder.family.visionFeeds(images).feeds;
  }

  private build(): { graph: Graph; logProbs: Map<Head, Value>; inputs: Map<string, Value> } {
    const parameters = new Parameters({ weights: this.folder.weights, inputs: 'all' });
    const { family } = this.folder;
    const { graph, features, parameterInputs } = family.buildForward({ kind: 'vision', parameters });
    const inputs = new Map(parameterInputs);
    const rows = { token: features[0], patch: normedPatches(graph, inputs) };
    const logProbs = new Map(
      this.heads.map((head) => [
        head,
        headLogProbs(graph, head, rows[head.level], widthOf(head, family), inputs),
      ]),
    );
    return { graph, logProbs, inputs };
  }

  private prepareTraining(): Promise<GradientSession> {
    const { graph, logProbs, inputs } = this.build();
    const losses = [...logProbs].map(([{ name }, values]) => {
      const [cells] = values.shape;
      const target = graph.input(`target ${name}`, 'int64', [cells]);
      const weight = graph.input(`weight ${name}`, 'float32', [cells]);
      const picked = ops.squeeze(ops.takeAlongAxis(values, ops.unsqueeze(target, [1]), 1), [1]);
      const loss = ops.neg(ops.reduceSum(ops.mul(picked, weight)));
      graph.output(`loss ${name}`, loss);
      return loss;
    });
    const total = losses.reduce((sum, each) => ops.add(sum, each));
    return GradientSession.create(graph, total, inputs, this.trained.device);
  }

  private preparePrediction(): Promise<Session> {
    const { graph, logProbs } = this.build();
    for (const [{ name }, values] of logProbs) graph.output(name, ops.argMax(values, 1));
    return Session.create(graph, { device: this.trained.device, spinning: false });
  }
}

/** The hidden states of all patches [N·P, width] before the merger, normalized. */
function normedPatches(graph: Graph, inputs: Map<string, Value>): Value {
  // The tower cuts its graph behind the last block and behind the merger.
  const hidden = graph.cuts.at(-2)!;
  const [weight, bias] = [PATCH_NORM.weight, PATCH_NORM.bias].map((name) => {
    const value = graph.input(name, 'float32', [hidden.shape[1]]);
    inputs.set(name, value);
    return value;
  });
  return ops.layerNorm(hidden, weight, bias, PATCH_NORM.epsilon);
}

function weightOf({ weight, laterWeight }: Head, balance: number): number {
  return balance > 0 ? weight : laterWeight;
}

interface LossScale {
  nothing: number;
  something: number;
}

/**
 * By head, the weight of one target of class 0 and of one of another class. With `balance` 1, all targets of class 0
 * together weigh `nothing`, so that a model learns to read before it learns where nothing is. With 0 every target
 * weighs the same, up to `MOST_NOTHING`, so that the most probable class is the correct prediction.
 */
function lossScales(
  screens: readonly ReadScreen[],
  heads: readonly Head[],
  balance: number,
): Map<string, LossScale> {
  return new Map(
    heads.map((head) => {
      const { name, nothing } = head;
      const weight = weightOf(head, balance);
      let [empty, full] = [0, 0];
      for (const { targets } of screens) {
        for (const target of targets[name]) {
          if (target === 0) empty++;
          else if (target > 0) full++;
        }
      }
      const something = weight / Math.max(1, full);
      const balanced = (weight * nothing) / Math.max(1, empty);
      const equal = Math.min(something, (MOST_NOTHING * weight) / Math.max(1, empty));
      return [name, { nothing: balance * balanced + (1 - balance) * equal, something }];
    }),
  );
}

function targetFeeds(
  screens: readonly ReadScreen[],
  heads: readonly Head[],
  scales: ReadonlyMap<string, LossScale>,
): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {};
  for (const { name } of heads) {
    const { nothing, something } = scales.get(name)!;
    const { length } = screens[0].targets[name];
    const targets = new BigInt64Array(screens.length * length);
    const weights = new Float32Array(targets.length);
    screens.forEach((screen, row) => {
      screen.targets[name].forEach((target, index) => {
        if (target < 0) return;
        targets[row * length + index] = BigInt(target);
        weights[row * length + index] = target === 0 ? nothing : something;
      });
    });
    feeds[`target ${name}`] = tensor('int64', targets);
    feeds[`weight ${name}`] = tensor('float32', weights);
  }
  return feeds;
}
