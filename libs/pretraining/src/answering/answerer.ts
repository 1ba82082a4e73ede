import {
  deviceMemory,
  type Dim,
  freeTensors,
  type Graph,
  ops,
  Session,
  tensor,
  type Tensor,
  type Value,
} from '@ui-rl/graph';
import { type FloatTensor, type ImageInput, type ModelFolder, Parameters } from '@ui-rl/models';
import { GradientSession, type GradientSums } from '../gradient-session';
import { TrainedWeights, type TrainingDevice, type TrainingOptions } from '../trained-weights';
import { READOUT_LAYERS } from './copying-attention';
import type { AskedRow } from './question';

/** A screen and the questions about it. */
export interface AskedScreen {
  image: ImageInput;
  rows: readonly AskedRow[];
}

export interface AnsweringLosses {
  /** The training loss: the mean over questions of their weighted loss. */
  total: number;
  /** Mean negative log-probability of whether an image token is at the target, targets and others weighed alike. */
  spot: number;
  /** Mean negative logarithm of the attention of a coordinate to the target, see `pointingLoss`. */
  pointing: number;
  /** Mean negative log-probability of an answer token. */
  answer: number;
  /** Mean negative log-probability of the image tokens' targets. */
  image: number;
  /** Share of answers of which every token is the most probable one. */
  exact: number;
}

const VISION = 'model.visual.';
/**
 * Layers of the decoder after which a head tells the image tokens at the target from all others: the last ones then
 * have something to point at. The head is not part of the model.
 */
const SPOT_LAYERS = 4;
const SPOT = { norm: 'heads.spot.norm', weight: 'heads.spot.weight', bias: 'heads.spot.bias' };

/** All weights of a model except those of the vision tower, whose features stay the same. */
export async function answeringWeights(
  { family, weights: stored }: ModelFolder,
  options?: TrainingOptions,
): Promise<TrainedWeights> {
  const weights = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters()) {
    if (name.startsWith(VISION)) continue;
    weights.set(name, { shape: [...shape], data: await stored.read(name, shape) });
  }
  const width = family.shape.hiddenSize;
  weights.set(SPOT.norm, { shape: [width], data: new Float32Array(width).fill(1) });
  weights.set(SPOT.weight, { shape: [2, width], data: new Float32Array(2 * width) });
  weights.set(SPOT.bias, { shape: [2], data: new Float32Array(2) });
  return TrainedWeights.create(weights, options);
}

/** The decoder, trained on questions about screens. The vision tower runs once for all questions of a screen. */
export class Answerer {
  private training: Promise<GradientSession> | undefined;
  private vision: Promise<Session> | undefined;

  constructor(
    private readonly folder: ModelFolder,
    readonly trained: TrainedWeights,
    private readonly limits: PassLimits = LIMITS[trained.device],
  ) {}

  /** Adds the gradients of the mean loss of all questions to `sums`. */
  async accumulate(screens: readonly AskedScreen[], sums: GradientSums): Promise<AnsweringLosses> {
    const count = screens.reduce((sum, { rows }) => sum + rows.length, 0);
    const losses = new LossSums();
    for (const part of partsOf(screens, this.limits)) await this.accumulatePart(part, count, sums, losses);
    return losses.means();
  }

  /** @param count number of all questions, over which the loss is a mean */
  private async accumulatePart(
    screens: readonly AskedScreen[],
    count: number,
    sums: GradientSums,
    losses: LossSums,
  ): Promise<void> {
    this.training ??= this.prepareTraining();
    const session = await this.training;
    const images = screens.map(({ image }) => image);
    const questions = screens.flatMap(({ rows }, index) => rows.map((row) => ({ ...row, images: [index] })));
    const features = await this.features(images);
    for (const rows of passesOf(questions, this.limits)) {
      const { feeds, selected } = this.folder.family.trainerFeeds(rows, images, { images: 'features' });
      const weights = Float32Array.from(selected, ({ row, position }) => rows[row].weights[position] / count);
      const results = await session.run(
        {
          ...feeds,
          ...features,
          ...this.trained.feeds(),
          ...spotFeeds(rows, feeds.token_ids.dims[1], count),
          ...pointingFeeds(rows, feeds.token_ids.dims[1], count),
          loss_weights: tensor('float32', weights),
        },
        sums,
      );
      losses.add(rows, selected, results.scores.data as Float32Array, weights);
      losses.addSpots((results.spot.data as Float32Array)[0]);
      losses.addPointing((results.pointing.data as Float32Array)[0], rows, count);
    }
    freeTensors(Object.values(features));
  }

  async release(): Promise<void> {
    await (await this.training)?.release();
    await (await this.vision)?.release();
  }

  private async features(images: readonly ImageInput[]): Promise<Record<string, Tensor>> {
    this.vision ??= this.prepareVision();
    const session = await this.vision;
    return session.run(this.folder.family.visionFeeds(images).feeds);
  }

  private prepareVision(): Promise<Session> {
    const parameters = new Parameters({ weights: this.folder.weights });
    const { graph } = this.folder.family.buildForward({ kind: 'vision', parameters });
    const { device } = this.trained;
    return Session.create(graph, { device, outputLocation: deviceMemory(device).location });
  }

  private prepareTraining(): Promise<GradientSession> {
    const parameters = new Parameters({
      weights: this.folder.weights,
      inputs: (name) => this.trained.has(name),
    });
    const { family } = this.folder;
    const { graph, logProbs, parameterInputs } = family.buildForward({
      kind: 'trainer',
      parameters,
      images: 'features',
    });
    const weights = graph.input('loss_weights', 'float32', logProbs.shape);
    graph.output('scores', logProbs);
    const answers = ops.neg(ops.reduceSum(ops.mul(logProbs, weights)));
    const inputs = new Map(parameterInputs);
    const spots = spotLoss(graph, family.shape.layers, inputs);
    graph.output('spot', spots);
    const pointing = pointingLoss(graph);
    graph.output('pointing', pointing);
    const total = ops.add(ops.add(answers, spots), pointing);
    return GradientSession.create(graph, total, inputs, this.trained.device);
  }
}

/** @param inputs receives the weights of the head */
function spotLoss(graph: Graph, layers: number, inputs: Map<string, Value>): Value {
  // The decoder cuts its graph behind each layer. Small models in tests have fewer layers.
  const hidden = graph.cuts.at(Math.min(SPOT_LAYERS, layers - 1) - layers - 1)!;
  const [rows, width] = hidden.shape;
  const weight = (name: string, shape: Dim[]): Value => {
    const value = graph.input(name, 'float32', shape);
    inputs.set(name, value);
    return value;
  };
  const normed = ops.rmsNorm(hidden, weight(SPOT.norm, [width]), 1e-6);
  const logits = ops.linear(normed, weight(SPOT.weight, [2, width]), weight(SPOT.bias, [2]));
  const target = graph.input('spot_targets', 'int64', [rows]);
  const picked = ops.takeAlongAxis(ops.logSoftmax(logits, 1), ops.unsqueeze(target, [1]), 1);
  const weights = graph.input('spot_weights', 'float32', [rows]);
  return ops.neg(ops.reduceSum(ops.mul(ops.squeeze(picked, [1]), weights)));
}

/** @param length padded length of the rows */
function spotFeeds(rows: readonly AskedRow[], length: number, questions: number): Record<string, Tensor> {
  const targets = new BigInt64Array(rows.length * length);
  const weights = new Float32Array(targets.length);
  rows.forEach(({ spots }, row) => {
    const counts = [0, 0];
    for (const spot of spots) if (spot >= 0) counts[spot]++;
    if (counts[1] === 0) return;
    spots.forEach((spot, position) => {
      if (spot < 0) return;
      targets[row * length + position] = BigInt(spot);
      weights[row * length + position] = 0.5 / counts[spot] / questions;
    });
  });
  return { spot_targets: tensor('int64', targets), spot_weights: tensor('float32', weights) };
}

/** Weight of a question's attention to its target, and the attention below which it hardly counts. */
const POINTING = { weight: 0.2, least: 1e-3 };

/**
 * Makes the heads that pass on columns and rows attend to the target where the answer names x and y: the negative
 * logarithm of their attention to all image tokens that the target covers. Otherwise they learn late where to look.
 */
function pointingLoss(graph: Graph): Value {
  const shares = graph.nodes
    .filter(({ opType, name }) => opType === 'Softmax' && name.includes('/self_attn/'))
    .slice(-READOUT_LAYERS)
    .map(({ outputs }) => outputs[0]); // [B, K, G·T, T]
  const [B, , , T] = shares[0].shape;
  const covered = graph.input('covered', 'float32', [B, 1, T, 1]);
  const weights = graph.input('pointing_weights', 'float32', [B, 2, 1, T]);
  const losses = shares.map((share) => {
    const found = ops.reshape(ops.matmul(ops.slice(share, 1, 0, 2), covered), [B, 2, -1, T]);
    const missed = ops.neg(ops.log(ops.add(found, POINTING.least)));
    return ops.reduceSum(ops.mul(ops.reduceMean(missed, [2], true), weights));
  });
  return ops.mul(
    losses.reduce((sum, loss) => ops.add(sum, loss)),
    1 / losses.length,
  );
}

/** @param length padded length of the rows */
function pointingFeeds(rows: readonly AskedRow[], length: number, questions: number): Record<string, Tensor> {
  const covered = new Float32Array(rows.length * length);
  const weights = new Float32Array(rows.length * 2 * length);
  rows.forEach(({ covered: target, coordinates }, row) => {
    covered.set(target, row * length);
    coordinates?.forEach((position, axis) => {
      weights[(2 * row + axis) * length + position] = POINTING.weight / 2 / questions;
    });
  });
  return {
    covered: tensor('float32', covered, [rows.length, 1, length, 1]),
    pointing_weights: tensor('float32', weights, [rows.length, 2, 1, length]),
  };
}

interface PassLimits {
  /** Maximum patches of the screens whose features are held at once, padding included. */
  patches: number;
  /** Maximum questions of a pass. */
  questions: number;
  /** Tokens that take as long as one more pass. */
  passTokens: number;
}

const LIMITS: Record<TrainingDevice, PassLimits> = {
  cpu: { patches: 15_000, questions: 16, passTokens: 80 },
  webgpu: { patches: 100_000, questions: 1_000, passTokens: 10_000 },
};

/** Groups screens, those of similar sizes together. */
function partsOf(screens: readonly AskedScreen[], { patches }: Pick<PassLimits, 'patches'>): AskedScreen[][] {
  const parts: AskedScreen[][] = [];
  for (const screen of screens.toSorted((a, b) => patchesOf(a) - patchesOf(b))) {
    const part = parts.at(-1);
    if (part !== undefined && (part.length + 1) * patchesOf(screen) <= patches) part.push(screen);
    else parts.push([screen]);
  }
  return parts;
}

function patchesOf({ image: { grid } }: AskedScreen): number {
  return grid[0] * grid[1] * grid[2];
}

/** Groups questions of similar lengths into passes, so that padding and passes take the least time in total. */
export function passesOf<Row extends Pick<AskedRow, 'tokenIds'>>(
  rows: readonly Row[],
  { questions, passTokens }: Pick<PassLimits, 'questions' | 'passTokens'>,
): Row[][] {
  const sorted = rows.toSorted((a, b) => a.tokenIds.length - b.tokenIds.length);
  // By number of rows: the least time of their passes in tokens, and where the last of these passes begins.
  const best = [{ tokens: 0, first: 0 }];
  sorted.forEach(({ tokenIds }, last) => {
    let least = { tokens: Infinity, first: last };
    for (let first = Math.max(0, last + 1 - questions); first <= last; first++) {
      const tokens = best[first].tokens + passTokens + (last + 1 - first) * tokenIds.length;
      if (tokens < least.tokens) least = { tokens, first };
    }
    best.push(least);
  });
  const passes: Row[][] = [];
  for (let end = sorted.length; end > 0; end = best[end].first) {
    passes.unshift(sorted.slice(best[end].first, end));
  }
  return passes;
}

class LossSums {
  private total = 0;
  private spot = 0;
  private pointing = 0;
  private pointed = 0;
  private answer = 0;
  private answers = 0;
  private image = 0;
  private images = 0;
  private likely = 0;
  private rows = 0;

  add(
    rows: readonly AskedRow[],
    selected: readonly { row: number; position: number }[],
    scores: Float32Array,
    weights: Float32Array,
  ): void {
    const lowest = new Float32Array(rows.length);
    selected.forEach(({ row, position }, index) => {
      this.total -= weights[index] * scores[index];
      if (position < rows[row].answer.first) {
        this.image -= scores[index];
        this.images++;
        return;
      }
      this.answer -= scores[index];
      this.answers++;
      lowest[row] = Math.min(lowest[row], scores[index]);
    });
    this.rows += rows.length;
    // A probability above one half is certainly the largest.
    for (const score of lowest) if (score > -Math.LN2) this.likely++;
  }

  /** @param loss already divided by the number of questions */
  addSpots(loss: number): void {
    this.total += loss;
    this.spot += loss;
  }

  /** @param loss already weighed and divided by the number of questions */
  addPointing(loss: number, rows: readonly AskedRow[], questions: number): void {
    this.total += loss;
    this.pointing += (loss * questions) / POINTING.weight;
    this.pointed += rows.filter(({ coordinates }) => coordinates !== null).length;
  }

  means(): AnsweringLosses {
    return {
      total: this.total,
      spot: this.spot,
      pointing: this.pointing / Math.max(1, this.pointed),
      answer: this.answer / Math.max(1, this.answers),
      image: this.image / Math.max(1, this.images),
      exact: this.likely / Math.max(1, this.rows),
    };
  }
}
