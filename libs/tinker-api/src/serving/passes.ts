import { invalid, unsupported } from '@ui-rl/openai-api';
import type { Datum, ForwardResult, LossModel } from '@ui-rl/plugin-kit';
import { chooseLoss, type ChosenLoss } from '../losses';
import { trainingJson } from '../wire/json';
import { writeTrainingOutput, type TrainingOutput } from '../wire/protobuf';
import type { TrainingRequest } from '../wire/training-request';
import type { Context } from './context';
import { readData } from './data';
import type { Answer } from './futures';
import type { ModelRun } from './model-run';

/** Losses that a forward pass of a critic may name: it returns values for each of them. */
const CRITIC_FORWARD = ['ppo_critic', 'ppo', 'cross_entropy'];

/** `forward_backward` and `forward`: passes data through a model. */
export class Passes {
  constructor(private readonly context: Context) {}

  /** The computation that a request asks for. @throws ApiError that names what models of this role do not support */
  choose({ lossFn, lossConfig, forwardOnly }: TrainingRequest, role: LossModel): ChosenLoss {
    if (role === 'policy' || !forwardOnly) return chooseLoss(lossFn, lossConfig, role);
    if (!CRITIC_FORWARD.includes(lossFn)) {
      const known = CRITIC_FORWARD.join(', ');
      throw unsupported('loss_fn', `"${lossFn}" is nothing a critic is asked with; known are ${known}`);
    }
    const [option] = Object.keys(lossConfig);
    if (option === undefined) return { choice: { name: 'value' }, inputs: {} };
    throw invalid(`loss_fn_config.${option}`, 'is nothing a forward pass of a critic reads');
  }

  async run(run: ModelRun, request: TrainingRequest, loss: ChosenLoss): Promise<Answer> {
    const { images, range } = this.context;
    const { data, hashes } = await readData(request, loss, images, range);
    try {
      const output = request.forwardOnly
        ? await this.score(run, data, request)
        : await this.gradients(run, data, request, loss);
      return {
        json: () => trainingJson(output),
        protobuf: () => writeTrainingOutput(output),
        sizeBytes: sizeOf(output),
      };
    } finally {
      images.release(hashes);
    }
  }

  /** The model's results for all targets, regardless of weight, unless those without weight are not requested. */
  private async score(
    run: ModelRun,
    data: readonly Datum[],
    { lossFn, scoresAll }: TrainingRequest,
  ): Promise<TrainingOutput> {
    const scores = await this.scores(run, data, (weight) => scoresAll || weight !== 0);
    const outputs = data.map((datum, index) => outputOf(run, datum, scores[index], lossFn));
    const losses = outputs.flatMap(({ elementwise_loss }) => Array.from(elementwise_loss ?? []));
    const loss = losses.reduce((sum, each) => sum + each, 0);
    return { outputs, metrics: isImitation(run, lossFn) ? { 'loss:sum': loss } : {} };
  }

  private async gradients(
    run: ModelRun,
    data: readonly Datum[],
    { lossFn, scoresAll }: TrainingRequest,
    { choice }: ChosenLoss,
  ): Promise<TrainingOutput> {
    const { engine } = this.context.model;
    const isTrained = data.some(({ weights }) =>
      Array.prototype.some.call(weights, (each: number) => each !== 0),
    );
    const trained = isTrained
      ? await engine.forwardBackward({ model: run.id, data, loss: choice })
      : { logprobs: [], metrics: { loss: 0 } };
    const own = isTrained ? scoresOf(run, trained) : undefined;
    const others = scoresAll ? await this.scores(run, data, (weight) => weight === 0) : undefined;
    const outputs = data.map((datum, index) => {
      // Positions without weight are not computed unless they are requested.
      const filled = Float32Array.from(datum.weights, (weight, place) =>
        weight === 0 ? (others?.[index][place] ?? 0) : own![index][place],
      );
      return outputOf(run, datum, filled, lossFn);
    });
    return { outputs, metrics: reduced(trained.metrics) };
  }

  /** The model's results for the targets with non-zero weight; 0 for others. */
  private async scores(
    run: ModelRun,
    data: readonly Datum[],
    isWanted: (weight: number) => boolean,
  ): Promise<Float32Array[]> {
    const scored = data.map(({ modelInput, targetTokens, weights }) => ({
      modelInput,
      targetTokens,
      weights: Array.from(weights, (weight) => (isWanted(weight) ? 1 : 0)),
    }));
    const isEmpty = scored.every(({ weights }) => !weights.includes(1));
    if (isEmpty) return scored.map(({ weights }) => new Float32Array(weights.length));
    const found = scoresOf(run, await this.context.model.engine.forward({ model: run.id, data: scored }));
    return found.map((each, index) =>
      each.map((score, place) => (scored[index].weights[place] === 0 ? 0 : score)),
    );
  }
}

/** Values of a critic, log-probabilities of a policy. */
function scoresOf({ role }: ModelRun, { logprobs, values }: ForwardResult): Float32Array[] {
  return role === 'critic' ? values! : logprobs;
}

function isImitation({ role }: ModelRun, lossFn: string): boolean {
  return role === 'policy' && lossFn === 'cross_entropy';
}

function outputOf(
  run: ModelRun,
  { weights }: Datum,
  scores: Float32Array,
  lossFn: string,
): Record<string, Float32Array> {
  if (run.role === 'critic') return { values: scores };
  if (!isImitation(run, lossFn)) return { logprobs: scores };
  return {
    logprobs: scores,
    elementwise_loss: scores.map((each, place) => (weights[place] === 0 ? 0 : -each * weights[place])),
  };
}

function sizeOf({ outputs }: TrainingOutput): number {
  const arrays = outputs.flatMap((each) => Object.values(each));
  return arrays.reduce((sum, { byteLength }) => sum + byteLength, 1024);
}

/** Clients that split a batch combine metrics by the suffix after the colon. */
const SUMS = new Set(['loss', 'tokens', 'passes']);

function reduced(metrics: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [`${name}:${SUMS.has(name) ? 'sum' : 'mean'}`, value]),
  );
}
