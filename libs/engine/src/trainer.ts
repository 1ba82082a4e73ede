import { addToken, noStatistics, tokenWeights, toMetrics, type PolicyLoss } from '@ui-rl/algorithms';
import { EngineError } from './errors';
import { AccumulatedGradients } from './accumulated-gradients';
import { planMicroBatches } from './micro-batches';
import type { Optimizer } from './optimizer';
import type { TokenData, TrainerModel } from './trainer-model';
import type { LossOptions, MicroBatchLimits, SampleLogprobs, TrainSample, TrainStepRequest } from './types';
import type { WeightSet } from './weights';

export interface StepResult {
  metrics: Record<string, number>;
  weights: WeightSet;
}

/** Gradient accumulation over micro-batches, one optimizer step at their end. */
export class Trainer {
  private accumulated: Promise<AccumulatedGradients> | undefined;
  trainMs = 0;

  constructor(
    private readonly model: TrainerModel,
    private readonly optimizer: Optimizer,
    private readonly limits: MicroBatchLimits,
  ) {}

  /**
   * One optimizer step from `weights`. The result holds new weights; the given ones are not changed.
   * Throws an `EngineError` of category `request`, and changes nothing, where no token is trained or the loss or the
   * gradient is not finite.
   */
  async step(request: TrainStepRequest, weights: WeightSet): Promise<StepResult> {
    const began = performance.now();
    const { samples, loss } = request;
    const counts = samples.map((sample, index) => countTrained(sample, index));
    if (loss.name !== 'cross_entropy') samples.forEach(checkSampled);
    const shares = tokenWeights(counts, loss.aggregation, loss.constantTokens);
    const trained = samples
      .map((_, index) => index)
      .filter(
        (index) => counts[index] > 0 && (loss.name === 'cross_entropy' || hasAdvantage(samples[index])),
      );
    if (trained.length === 0) {
      throw new EngineError(
        'request',
        `none of the ${samples.length} samples has a token to train with an advantage`,
      );
    }
    const kept = trained.map((index) => samples[index]);
    const plan = planMicroBatches(kept, this.limits, request.minibatches);

    const gradients = await this.accumulatedGradients(weights);
    gradients.clear();
    const statistics = noStatistics();
    const policyLoss = lossOf(loss);
    let total = 0;
    for (const indices of plan) {
      const pass = this.model.prepare(indices.map((index) => kept[index]));
      const origins = pass.batch.selected.map(({ row, token }) => {
        const index = trained[indices[row]];
        return { sample: samples[index], token, share: shares[index] };
      });
      const tokens = tokenData(origins);
      const result = await this.model.train(weights, pass, policyLoss, tokens, gradients);
      total += result.loss;
      origins.forEach(({ sample, token }, index) => {
        addToken(statistics, policyLoss, {
          logp: result.logp[index],
          oldLogp: sample.oldLogprobs === undefined ? Number.NaN : sample.oldLogprobs[token],
          advantage: tokens.advantage[index],
          entropy: result.entropy[index],
        });
      });
    }

    if (!Number.isFinite(total)) throw new EngineError('request', `the loss is ${total}; no step was taken`);
    const { learningRate, maxGradNorm } = request;
    const { weights: next, norm } = await this.optimizer.step(weights, gradients, learningRate, maxGradNorm);
    gradients.clear();
    this.trainMs += performance.now() - began;
    const metrics = {
      ...toMetrics(statistics, policyLoss),
      'optim/loss': total,
      'optim/grad_norm': norm,
      'optim/lr': learningRate,
      'optim/samples': kept.length,
      'optim/micro_batches': plan.length,
      'time/train': (performance.now() - began) / 1000,
    };
    return { metrics, weights: next };
  }

  private accumulatedGradients(weights: WeightSet): Promise<AccumulatedGradients> {
    this.accumulated ??= this.model.accumulatedGradients(weights).catch((error: unknown) => {
      this.accumulated = undefined;
      throw error;
    });
    return this.accumulated;
  }

  async release(): Promise<void> {
    (await this.accumulated)?.release();
    await this.optimizer.release();
  }

  /** Log-probability of every masked token; NaN elsewhere. */
  async logprobs(samples: readonly TrainSample[], weights: WeightSet): Promise<SampleLogprobs[]> {
    const results = samples.map((sample) => new Float32Array(sample.tokenIds.length).fill(Number.NaN));
    const kept = samples.map((_, index) => index).filter((index) => countTrained(samples[index], index) > 0);
    const plan = planMicroBatches(
      kept.map((index) => samples[index]),
      this.limits,
    );
    for (const indices of plan) {
      const pass = this.model.prepare(indices.map((index) => samples[kept[index]]));
      const logp = await this.model.score(weights, pass);
      pass.batch.selected.forEach(({ row, token }, index) => {
        results[kept[indices[row]]][token] = logp[index];
      });
    }
    return results;
  }
}

function lossOf(options: LossOptions): PolicyLoss {
  const { name, clipLow, clipHigh, dualClip } = options;
  return { name, clipLow, clipHigh, dualClip };
}

/** Checks a sample's lengths; the number of tokens it trains. */
function countTrained(sample: TrainSample, index: number): number {
  const { length } = sample.tokenIds;
  const { mask, targets, oldLogprobs, advantages } = sample;
  const arrays = { mask, targets, oldLogprobs, advantages };
  for (const [name, array] of Object.entries(arrays)) {
    if (array === undefined || typeof array === 'number' || array.length === length) continue;
    throw new EngineError(
      'request',
      `sample ${index} has ${length} tokens but ${array.length} ${name}; expected as many`,
    );
  }
  if (length > 0 && sample.mask[0] !== 0) {
    throw new EngineError(
      'request',
      `sample ${index} trains its first token, which nothing precedes; mask it with 0`,
    );
  }
  let count = 0;
  for (let token = 0; token < length; token += 1) if (sample.mask[token] !== 0) count += 1;
  return count;
}

function checkSampled(sample: TrainSample, index: number): void {
  if (sample.oldLogprobs === undefined) {
    throw new EngineError(
      'request',
      `sample ${index} has no oldLogprobs; every loss but cross_entropy compares with them`,
    );
  }
}

/** Without an advantage a sample has no gradient: it counts in the means, and need not be computed. */
function hasAdvantage({ advantages }: TrainSample): boolean {
  if (typeof advantages === 'number') return advantages !== 0;
  return Array.prototype.some.call(advantages, (advantage: number) => advantage !== 0);
}

function tokenData(origins: readonly { sample: TrainSample; token: number; share: number }[]): TokenData {
  const oldLogp = new Float32Array(origins.length);
  const advantage = new Float32Array(origins.length);
  const weight = new Float32Array(origins.length);
  origins.forEach(({ sample, token, share }, index) => {
    oldLogp[index] = sample.oldLogprobs?.[token] ?? 0;
    advantage[index] = typeof sample.advantages === 'number' ? sample.advantages : sample.advantages[token];
    weight[index] = share * (sample.weight ?? 1);
  });
  return { oldLogp, advantage, weight };
}
