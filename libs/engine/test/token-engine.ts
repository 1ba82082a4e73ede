import {
  addToken,
  checkPolicyLoss,
  noStatistics,
  tokenWeights,
  toMetrics,
  type PolicyLoss,
} from '@ui-rl/algorithms';
import type {
  ComponentChoice,
  EngineInfo as Info,
  ForwardBackwardResult,
  ForwardResult,
  OptimStepResult,
} from '@ui-rl/plugin-kit';
import { EngineError } from '../src/errors';
import type { GenerationResult } from '../src/generation/generator';
import type { ProgressReporter } from '../src/progress';
import type { TrainingDatum } from '../src/training/data';
import { WorkerHandle } from '../src/worker-handle';
import type {
  EngineInfo,
  EngineOptions,
  GenerateRequest,
  GenerateResult,
  LossOptions,
  SampleLogprobs,
  TrainSample,
  TrainStepRequest,
  TrainStepResult,
  WeightsInfo,
} from './token-types';

const MODEL = 'policy';

/** A device worker for specs that speak of tokens and processed images: whole steps, with figures per sampled token. */
export class Engine {
  private exclusive: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly worker: WorkerHandle,
    private readonly options: EngineOptions,
  ) {}

  static async start(
    options: EngineOptions,
    onProgress: ProgressReporter = () => undefined,
  ): Promise<Engine> {
    const { trainable, optimizer: _, ...rest } = options;
    const models = [{ name: MODEL, role: 'policy', trainable }];
    const settings = { deterministic: false, componentFiles: [], ...rest, models };
    return new Engine(await WorkerHandle.start(settings, onProgress), options);
  }

  get ended(): Promise<EngineError> {
    return this.worker.ended;
  }

  async generate({ stopTokenIds, policy = MODEL, ...request }: GenerateRequest): Promise<GenerateResult> {
    const model = policy === 'latest' ? MODEL : policy;
    const result = await this.worker.call<GenerationResult>('sample', {
      ...request,
      model,
      stop: stopTokenIds,
    });
    return {
      tokenIds: result.tokens,
      logprobs: result.logprobs,
      finishReason: result.stopReason,
      policyVersion: result.version,
      adapterDigest: result.digest,
    };
  }

  trainStep(request: TrainStepRequest): Promise<TrainStepResult> {
    const result = this.exclusive.then(() => this.step(request));
    this.exclusive = result.catch(() => undefined);
    return result;
  }

  async logprobs(samples: TrainSample[]): Promise<SampleLogprobs[]> {
    const shares = samples.map((sample, index) => Number(countTrained(sample, index) > 0));
    const data = samples.map((sample, index) => datumOf(sample, shares[index]));
    const { logprobs } = await this.worker.call<ForwardResult>('forward', { model: MODEL, data });
    return logprobs.map(atTokens);
  }

  save(dir: string, files: Record<string, string> = {}): Promise<WeightsInfo> {
    return this.worker.call('saveState', { model: MODEL, dir, files });
  }

  load(dir: string): Promise<WeightsInfo> {
    return this.worker.call('loadState', { model: MODEL, dir, optimizer: true });
  }

  snapshot(id: string, dir?: string): Promise<WeightsInfo> {
    return this.worker.call('saveWeightsForSampler', { model: MODEL, name: id, dir });
  }

  dropSnapshot(id: string): Promise<void> {
    return this.worker.call('releaseWeights', id);
  }

  async info(): Promise<EngineInfo> {
    const info = (await this.worker.call<Info>('info')) as Info &
      Omit<EngineInfo, 'version' | 'digest'> & {
        weights: Record<string, WeightsInfo>;
      };
    const { models, weights, device: _, ...rest } = info;
    const snapshots = models.filter((name) => name !== MODEL && name !== 'base');
    return { ...rest, ...weights[MODEL], device: this.options.device, snapshots };
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  private async step(request: TrainStepRequest): Promise<TrainStepResult> {
    const began = performance.now();
    const { samples, loss, learningRate } = request;
    checkPolicyLoss(loss);
    const counts = samples.map((sample, index) => countTrained(sample, index));
    if (loss.name !== 'cross_entropy') samples.forEach(checkSampled);
    const shares = tokenWeights(counts, loss.aggregation, loss.constantTokens);
    const kept = samples
      .map((sample, index) => ({ sample, share: shares[index] }))
      .filter(({ sample, share }) => share > 0 && (loss.name === 'cross_entropy' || hasAdvantage(sample)));
    if (kept.length === 0) {
      throw new EngineError(
        'request',
        `none of the ${samples.length} samples has a token to train with an advantage`,
      );
    }
    const data = kept.map(({ sample, share }) => datumOf(sample, share));
    const result = await this.worker.call<ForwardBackwardResult>('forwardBackward', {
      model: MODEL,
      data,
      loss: choiceOf(loss),
      minPasses: request.minibatches,
    });
    const stepped = await this.worker
      .call<OptimStepResult>('optimStep', {
        model: MODEL,
        optimizer: this.optimizer(),
        learningRate,
        maxGradNorm: request.maxGradNorm,
      })
      .catch(async (error: unknown) => {
        await this.worker.call('discardGradients', MODEL).catch(() => undefined);
        throw error;
      });
    const metrics = {
      ...statisticsOf(kept, result, loss),
      'optim/loss': result.metrics.loss,
      'optim/grad_norm': stepped.metrics.grad_norm,
      'optim/lr': learningRate,
      'optim/samples': kept.length,
      'optim/micro_batches': result.metrics.passes,
      'time/train': (performance.now() - began) / 1000,
    };
    return { metrics, ...stepped.weights };
  }

  private optimizer(): ComponentChoice {
    const { beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0 } = this.options.optimizer ?? {};
    return { name: 'adamw', beta1, beta2, epsilon, weight_decay: weightDecay };
  }
}

function choiceOf({ name, clipLow, clipHigh, dualClip }: PolicyLoss): ComponentChoice {
  return {
    name,
    ...(clipLow === undefined ? {} : { clip_low: clipLow }),
    ...(clipHigh === undefined ? {} : { clip_high: clipHigh }),
    ...(dualClip === undefined ? {} : { dual_clip: dualClip }),
  };
}

/** Position i predicts token i + 1. */
function datumOf(sample: TrainSample, share: number): TrainingDatum {
  const { length } = sample.tokenIds;
  const shifted = (value: (token: number) => number): Float32Array =>
    Float32Array.from({ length: length - 1 }, (_, position) => value(position + 1));
  const { mask, advantages, oldLogprobs, temperature = 1 } = sample;
  return {
    tokenIds: Array.from(sample.tokenIds).slice(0, -1),
    images: sample.images,
    targets: Array.from(sample.targets ?? sample.tokenIds).slice(1),
    weights: shifted((token) => (mask[token] === 0 ? 0 : share * (sample.weight ?? 1))),
    lossInputs: {
      advantages: shifted((token) => (typeof advantages === 'number' ? advantages : advantages[token])),
      old_logprobs: shifted((token) => oldLogprobs?.[token] ?? 0),
    },
    temperature: temperature > 0 ? temperature : 1,
  };
}

/** The first token is predicted by nothing. */
function atTokens(positions: Float32Array): Float32Array {
  const tokens = new Float32Array(positions.length + 1).fill(Number.NaN);
  tokens.set(positions, 1);
  return tokens;
}

function statisticsOf(
  kept: readonly { sample: TrainSample }[],
  { logprobs, metrics }: ForwardBackwardResult,
  loss: LossOptions,
): Record<string, number> {
  const statistics = noStatistics();
  kept.forEach(({ sample: { mask, oldLogprobs, advantages } }, index) => {
    const logp = atTokens(logprobs[index]);
    for (let token = 1; token < mask.length; token += 1) {
      if (mask[token] === 0) continue;
      addToken(statistics, loss, {
        logp: logp[token],
        oldLogp: oldLogprobs === undefined ? Number.NaN : oldLogprobs[token],
        advantage: typeof advantages === 'number' ? advantages : advantages[token],
        entropy: metrics.entropy,
      });
    }
  });
  return toMetrics(statistics, loss);
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
