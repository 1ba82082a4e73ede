import { EngineError } from '../errors';
import type { Pass, Passes } from '../passes/passes';
import { REGULARIZER, type Loss } from '../passes/objective';
import type { PassResult } from '../passes/runner';
import type { WeightSet } from '../weights/weight-set';
import { isTrained, type TrainingDatum } from './data';
import { lossFeeds, sequenceOf, type TokenOrigin } from './loss-feeds';
import type { MicroBatchLimits } from './micro-batches';
import { planPasses } from './packs';
import type { TrainedModel } from './trained-model';

/** Log-probability of each position's target, or a critic's value of its state; NaN where the weight is 0. */
export type DatumScores = Float32Array;

export interface TrainingResult {
  scores: DatumScores[];
  /**
   * `loss`, `entropy` of a policy, `tokens`, `passes`, metrics of the loss as `loss/<name>`, and of regularizers as
   * `regularizer/<name>`
   */
  metrics: Record<string, number>;
}

/** Trains or scores data in passes of a size that fits into memory. */
export class Trainer {
  trainMs = 0;

  constructor(private readonly limits: MicroBatchLimits) {}

  /** Scores of every position with a weight; NaN elsewhere. */
  async forward(passes: Passes, weights: WeightSet, data: readonly TrainingDatum[]): Promise<DatumScores[]> {
    const results = data.map(blank);
    const kept = data.map((_, index) => index).filter((index) => isTrained(data[index]));
    const sequences = kept.map((index) => data[index]);
    for (const { rows, packs } of planPasses(passes.family, sequences, { limits: this.limits })) {
      const indices = rows.map((row) => kept[row]);
      const pass = passes.prepare(
        rows.map((row) => sequences[row]),
        packs,
      );
      const scores = await passes.score(weights, pass);
      scatter(scores, pass, indices, results);
    }
    return results;
  }

  /**
   * Adds the gradients of Σ weight · loss to the accumulated ones; adds nothing if it fails. Throws an `EngineError`
   * of category `request` if no token has a weight, data lack an input of the loss, or the loss is not finite.
   */
  async forwardBackward(
    model: TrainedModel,
    { data, loss, minPasses = 1 }: { data: readonly TrainingDatum[]; loss: Loss; minPasses?: number },
  ): Promise<TrainingResult> {
    const began = performance.now();
    const { weights, dropoutSeeds } = model;
    const { passes } = model.network;
    checkModel(loss, model);
    const accumulated = await model.gradients();
    const kept = data.map((_, index) => index).filter((index) => isTrained(data[index]));
    if (kept.length === 0) {
      throw new EngineError('request', `none of the ${data.length} data has a token with a weight`);
    }
    for (const index of kept) checkInputs(loss, data[index], index);
    const sequences = kept.map((index) => data[index]);
    const plan = planPasses(passes.family, sequences, {
      limits: this.limits,
      minPasses,
      bundleOf: bundleBy(loss, sequences),
    });
    const scores = data.map(blank);
    const sums = new Sums();
    await accumulated.attempt(async () => {
      for (const { rows, packs } of plan) {
        const indices = rows.map((row) => kept[row]);
        const pass = passes.prepare(
          rows.map((row) => sequences[row]),
          packs,
        );
        const origins = originsOf(pass, indices, data);
        const { feeds, units } = lossFeeds(loss, origins);
        const result = await passes.train(weights, pass, {
          loss,
          lossFeeds: feeds,
          dropoutSeed: dropoutSeeds.next(weights.version),
          accumulated,
        });
        sums.add(result, units);
        scatter(result.scores, pass, indices, scores);
      }
      if (!Number.isFinite(sums.loss)) {
        throw new EngineError('request', `the loss is ${sums.loss}; no gradient was added`);
      }
    });
    this.trainMs += performance.now() - began;
    return { scores, metrics: { ...sums.metrics(), passes: plan.length } };
  }
}

/** Sums of pass results. */
class Sums {
  loss = 0;
  private tokens = 0;
  private entropy: number | undefined;
  private units = 0;
  private readonly ofLoss = new Map<string, number>();

  add({ loss, scores, entropy, metrics }: PassResult, units: number): void {
    this.loss += loss;
    this.tokens += scores.length;
    this.units += units;
    if (entropy !== undefined) this.entropy = entropy.reduce((sum, each) => sum + each, this.entropy ?? 0);
    for (const [name, sum] of Object.entries(metrics)) {
      this.ofLoss.set(name, (this.ofLoss.get(name) ?? 0) + sum);
    }
  }

  metrics(): Record<string, number> {
    const ofLoss = Array.from(this.ofLoss, ([name, sum]) =>
      name.startsWith(REGULARIZER) ? [name, sum / this.tokens] : [`loss/${name}`, sum / this.units],
    );
    return {
      loss: this.loss,
      ...(this.entropy === undefined ? {} : { entropy: this.entropy / this.tokens }),
      tokens: this.tokens,
      ...Object.fromEntries(ofLoss),
    };
  }
}

function blank({ tokenIds }: TrainingDatum): DatumScores {
  return new Float32Array(tokenIds.length).fill(Number.NaN);
}

function originsOf(pass: Pass, indices: readonly number[], data: readonly TrainingDatum[]): TokenOrigin[] {
  return pass.batch.selected.map(({ row, position }) => ({ datum: data[indices[row]], position }));
}

function scatter(
  scores: Float32Array,
  pass: Pass,
  indices: readonly number[],
  into: readonly DatumScores[],
): void {
  pass.batch.selected.forEach(({ row, position }, index) => {
    into[indices[row]][position] = scores[index];
  });
}

/** @throws EngineError `request` if a loss does not apply to such a model */
function checkModel({ name, trains, scope }: Loss, { description, network }: TrainedModel): void {
  if (trains !== network.role) {
    throw new EngineError(
      'request',
      `the loss ${name} trains a ${trains}, but ${description.name} is a ${network.role}`,
    );
  }
  if (trains === 'critic' && scope !== 'token') {
    throw new EngineError('request', `the loss ${name} of a critic has the scope ${scope}, expected token`);
  }
}

function checkInputs({ name, inputs, scope }: Loss, datum: TrainingDatum, index: number): void {
  for (const input of inputs) {
    if (datum.lossInputs[input] !== undefined) continue;
    throw new EngineError('request', `datum ${index} has no ${input}, which the loss ${name} reads`);
  }
  if (scope === 'pair' && datum.pair === undefined) {
    throw new EngineError('request', `datum ${index} belongs to no pair; the loss ${name} compares pairs`);
  }
}

/**
 * Key of data that must share a pass: those of a sequence or of a pair, if the loss has that scope. Undefined if each
 * is independent.
 */
function bundleBy({ scope }: Loss, rows: readonly TrainingDatum[]): ((index: number) => unknown) | undefined {
  switch (scope) {
    case 'token':
      return undefined;
    case 'sequence':
      return (index) => sequenceOf(rows[index]);
    case 'pair':
      return (index) => rows[index].pair!.id;
  }
}
