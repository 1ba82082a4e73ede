import type { TrainedEpisode, Trajectory, Turn } from '@ui-rl/contracts';
import type { AdvantageInput, Engine } from '@ui-rl/plugin-kit';
import { POLICY } from '../checkpoints/run-models';
import { Group } from '../episodes/groups';
import type { Algorithm } from './algorithm';
import { type MayTrain, split, trainedTurns, valuedTurns } from './batch-data';
import { CriticTrainer, valueMetrics } from './critic-trainer';
import { byTurn, experienceOf, type InputsOf, type PerTurn } from './experience';
import { penalizeDrift, type PenalizedAdvantages } from './kl-penalty';
import { mergeContinuations } from './merge-continuations';
import { correct, withWeight } from './off-policy';
import { postKl } from './post-kl';
import { assertWithin, isWithin, type StalenessBound } from './staleness';
import { NOTHING_CARRIED, type Carried } from './stored/kept-episodes';
import { joinSubsteps, optimizerMetrics } from './step-metrics';
import { trainedEpisodes } from './trained-tokens';
import {
  atSampledTokens,
  sequenceOf,
  toTrain,
  type SequenceContext,
  type TrainedTurn,
  type TurnSequence,
} from './turn-data';
import { type LogprobsByTurn, scoreTurns, TurnLogprobs } from './turn-logprobs';

/** The model without its adapter. */
const REFERENCE = 'base';

export interface BatchResult {
  metrics: Record<string, number>;
  /** Digest of the current weights. */
  digest: string;
  tokens: number;
  /** Its numbers for each episode, for readers. */
  episodes: TrainedEpisode[];
  /** The estimator's state for the next batch. */
  carried: Carried;
}

/** The context of a batch. */
export interface BesideBatch {
  /** State from the previous batch; default: none. */
  carried?: Carried;
  /** Groups that were played for the batch and are not trained on: they have no learning signal. */
  untrained?: readonly Group[];
  /** Factor on the scheduled learning rate. Default 1. */
  learningRateFactor?: number;
  /** Maximum number of steps between the policy of a trained token and the current one. Default 0. */
  maxStepsOffPolicy?: number;
}

/** Inputs of estimators besides the groups. */
interface Told {
  /** From the previous batch. */
  memory: unknown;
  untrained: readonly Group[];
}

interface Estimate {
  advantages: PerTurn;
  returns?: PerTurn;
  /** The critic's values before the step, if there is a critic. */
  values?: PerTurn;
  metrics: Record<string, number>;
  carried: Carried;
}

/** The turns of an optimizer step. */
interface Part {
  policy: TrainedTurn[];
  /** Empty without a critic. */
  critic: TrainedTurn[];
}

/** Trains the batch of a step: in one optimizer step, or in several, over parts of the batch or in several passes. */
export class BatchTrainer {
  private readonly critic: CriticTrainer | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly algorithm: Algorithm,
    private readonly context: SequenceContext,
    private readonly teacher?: Engine,
  ) {
    const { critic, training } = algorithm;
    this.critic = critic && new CriticTrainer(engine, critic, training.num_minibatches);
  }

  /**
   * @param step number of steps trained before
   * @param digest of the current weights
   */
  async train(
    fresh: readonly Group[],
    step: number,
    digest: string,
    {
      carried = NOTHING_CARRIED,
      untrained = [],
      learningRateFactor = 1,
      maxStepsOffPolicy = 0,
    }: BesideBatch = {},
  ): Promise<BatchResult> {
    const began = performance.now();
    const { options, training, schedule, critic } = this.algorithm;
    const learningRate = training.learning_rate * schedule.factor(step) * learningRateFactor;
    const kept = carried.kept.map((trajectory, index) =>
      Group.replayed(index, `kept-${index}`, [trajectory]),
    );
    const groups = [...fresh, ...kept];
    const replayed = new Set(groups.filter(({ isReplayed }) => isReplayed).flatMap(turnsOf));
    const substeps = substepsOf(fresh, kept, training.num_substeps);
    const { parts, metrics, ...prepared } = await this.prepare(groups, substeps, {
      ...{ bound: { step, maxStepsOffPolicy }, replayed, memory: carried.memory, untrained },
    });
    const movedSince = options.compute_post_kl
      ? await this.movement(parts.flatMap(({ policy }) => policy))
      : undefined;
    const results: Record<string, number>[] = [];
    const criticResults: Record<string, number>[] = [];
    const isWarmup = critic !== undefined && step < critic.options.warmup_steps;
    const logprobs = new Map<Turn, Float32Array>();
    let newest = digest;
    for (const part of Array.from({ length: training.passes_per_batch }, () => parts).flat()) {
      if (part.critic.length > 0) criticResults.push(await this.critic!.step(part.critic));
      if (part.policy.length === 0 || isWarmup) continue;
      const result = await this.optimizerStep(part.policy, learningRate, replayed);
      results.push(result.metrics);
      // The first pass compares the trainer with the sampler.
      for (const [turn, trained] of result.logprobs) if (!logprobs.has(turn)) logprobs.set(turn, trained);
      newest = result.digest;
    }
    const tokens = results.reduce((sum, result) => sum + (result['optim/tokens'] ?? 0), 0);
    return {
      metrics: {
        ...joinSubsteps(results),
        ...joinSubsteps(criticResults),
        ...metrics,
        ...(await movedSince?.()),
        'optim/lr': learningRate,
        'optim/substeps': results.length,
        'time/train': (performance.now() - began) / 1000,
      },
      digest: newest,
      tokens,
      episodes: trainedEpisodes(
        groups
          .flatMap(({ trajectories }) => trajectories)
          .filter(({ turns }) => turns.every((turn) => !replayed.has(turn) || prepared.advantages.has(turn))),
        prepared.advantages,
        parts.flatMap(({ policy }) => policy),
        logprobs,
      ),
      carried: prepared.carried,
    };
  }

  /** Computes everything about the batch that its first optimizer step needs. */
  private async prepare(
    groups: readonly Group[],
    substeps: readonly Group[][],
    { bound, replayed, ...told }: Told & { bound: StalenessBound; replayed: ReadonlySet<Turn> },
  ): Promise<{ parts: Part[]; advantages: PerTurn; metrics: Record<string, number>; carried: Carried }> {
    const { options: algorithm, lossComponent, lossInputs, skipsZeroAdvantages } = this.algorithm;
    const sequences = await this.sequencesOf(groups);
    const reference = new TurnLogprobs((missing) => this.logprobs(REFERENCE, missing));
    // Replayed episodes are old on purpose.
    const mayTrain: MayTrain = (turn) =>
      replayed.has(turn) ? turn.tokenIds.map(() => true) : isWithin(turn, bound);
    const { advantages, returns, values, metrics, carried } = await this.estimate(
      groups,
      sequences,
      reference,
      { ...told, mayTrain },
    );
    const { scope } = lossComponent;
    const advantagesAreWeights = this.algorithm.advantage.gives === 'selection';
    const options = {
      ...{ scope, skipsZeroAdvantages, advantagesAreWeights, mayTrain },
      aggregation: algorithm.loss_aggregation,
      constantTokens: algorithm.constant_tokens,
    };
    const parts = substeps.map((part): Part => ({
      policy: trainedTurns(part, sequences, advantages, options),
      critic: this.critic === undefined ? [] : valuedTurns(part, sequences, returns!, mayTrain),
    }));
    const all = parts.flatMap(({ policy }) => policy);
    const valued = parts.flatMap(({ critic }) => critic);
    for (const { inputs, sequence } of [...all, ...valued]) {
      inputs.returns = returns?.get(sequence.turn);
      inputs.values = values?.get(sequence.turn);
    }
    for (const { inputs, sequence } of all) {
      const { turn } = sequence;
      inputs.advantages = advantages.get(turn);
      inputs.sample_logprobs = turn.logprobs;
      inputs.old_logprobs = turn.logprobs;
    }
    if (lossInputs.includes('reference_logprobs')) {
      const known = await reference.of(all.map(({ sequence }) => sequence));
      for (const { inputs, sequence } of all) inputs.reference_logprobs = known.get(sequence.turn);
    }
    await this.renewLogprobs(all.filter(({ sequence }) => replayed.has(sequence.turn)));
    const corrected = await this.corrected(
      all.filter(({ sequence }) => !replayed.has(sequence.turn)),
      sequences,
    );
    for (const { sequence, weights } of [...all, ...valued]) {
      if (!replayed.has(sequence.turn)) assertWithin(sequence.turn, weights, bound);
    }
    return {
      parts: parts.map(({ policy, critic }) => ({ policy: withWeight(policy), critic })),
      advantages,
      metrics: { ...metrics, ...corrected },
      carried,
    };
  }

  private async sequencesOf(groups: readonly Group[]): Promise<Map<Turn, TurnSequence>> {
    const trajectories = groups.flatMap((group) => group.trajectories);
    const sequences = await Promise.all(
      trajectories.flatMap((trajectory) =>
        trajectory.turns
          .filter(({ tokenIds }) => tokenIds.length > 0)
          .map((turn) => sequenceOf(trajectory, turn, this.context)),
      ),
    );
    return new Map(sequences.map((sequence) => [sequence.turn, sequence]));
  }

  private async estimate(
    groups: readonly Group[],
    sequences: ReadonlyMap<Turn, TurnSequence>,
    reference: TurnLogprobs,
    { memory, untrained, mayTrain }: Told & { mayTrain: MayTrain },
  ): Promise<Estimate> {
    const { advantage, estimator, lossComponent } = this.algorithm;
    const reads = (input: AdvantageInput) => advantage.inputs?.includes(input) === true;
    const all = [...sequences.values()];
    const known = reads('reference_logprobs') ? await reference.of(all) : undefined;
    const taught = reads('teacher_logprobs') ? await this.taught(all) : undefined;
    const values = await this.critic?.values(all);
    const inputsOf: InputsOf = (turn) => ({
      ...(known === undefined ? {} : { reference_logprobs: known.get(turn) ?? new Float32Array() }),
      ...(taught === undefined ? {} : { teacher_logprobs: taught.get(turn) ?? new Float32Array() }),
      ...(values === undefined ? {} : { values: values.get(turn) ?? new Float32Array() }),
    });
    const experience = groups.map((group) => experienceOf(group, inputsOf));
    const others = untrained.map((group) => experienceOf(group));
    const { advantages, returns, metrics = {}, ...wanted } = estimator.estimate(experience, memory, others);
    const source = `advantage ${advantage.name}`;
    if (returns === undefined && (values !== undefined || lossComponent.inputs.includes('returns'))) {
      const reader = values === undefined ? `policy-loss ${lossComponent.name} reads` : 'the critic learns';
      throw new Error(`${reader} returns, but ${source} gave none`);
    }
    const returned = returns && byTurn(groups, returns, `${source}, as a return,`);
    const estimated = byTurn(groups, advantages, source);
    const penalized = await this.penalized(estimated, sequences, reference, mayTrain);
    return {
      advantages: penalized.advantages,
      returns: returned,
      values,
      metrics: {
        ...Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`advantage/${name}`, value])),
        ...(values === undefined ? {} : valueMetrics(values, returned!)),
        ...penalized.metrics,
      },
      carried: { memory: wanted.memory, kept: keptOf(groups, wanted.keep) },
    };
  }

  private taught(sequences: readonly TurnSequence[]): Promise<LogprobsByTurn> {
    if (this.teacher !== undefined) return scoreTurns(this.teacher, POLICY, sequences);
    throw new Error(
      `advantage ${this.algorithm.advantage.name} reads teacher_logprobs, but the run has no teacher`,
    );
  }

  private async penalized(
    advantages: PerTurn,
    sequences: ReadonlyMap<Turn, TurnSequence>,
    reference: TurnLogprobs,
    mayTrain: MayTrain,
  ): Promise<PenalizedAdvantages> {
    const { kl_penalty_coef: coefficient } = this.algorithm.options;
    if (coefficient === 0) return { advantages, metrics: {} };
    const trained = [...sequences.values()].filter(({ turn }) => advantages.has(turn));
    return penalizeDrift(advantages, await reference.of(trained), coefficient, mayTrain);
  }

  /** Starts to measure how far the policy moves on the tokens of these turns. */
  private async movement(turns: readonly TrainedTurn[]): Promise<() => Promise<Record<string, number>>> {
    const sequences = turns.map(({ sequence }) => sequence);
    const before = await this.logprobs(POLICY, sequences);
    return async () => {
      const after = await this.logprobs(POLICY, sequences);
      return postKl(Array.from(before, ([turn, own]) => ({ before: own, after: after.get(turn)! })));
    };
  }

  /**
   * Recomputes log-probabilities if a correction compares them with the sampler's: of whole episodes, as they were
   * sampled.
   */
  private async corrected(
    turns: readonly TrainedTurn[],
    sequences: ReadonlyMap<Turn, TurnSequence>,
  ): Promise<Record<string, number>> {
    const { correction } = this.algorithm;
    if (correction === null) return {};
    const trained = new Set(turns.map(({ sequence }) => sequence.rolloutId));
    const played = [...sequences.values()].filter(({ rolloutId }) => trained.has(rolloutId));
    return correct(turns, played, correction, await this.logprobs(POLICY, played));
  }

  /**
   * Presents replayed turns as samples of the current policy: their ratio to the policy that sampled them vanishes as
   * soon as the policy no longer takes their actions.
   */
  private async renewLogprobs(turns: readonly TrainedTurn[]): Promise<void> {
    const { lossInputs } = this.algorithm;
    const reads = lossInputs.includes('old_logprobs') || lossInputs.includes('sample_logprobs');
    if (turns.length === 0 || !reads) return;
    const now = await this.logprobs(
      POLICY,
      turns.map(({ sequence }) => sequence),
    );
    for (const { inputs, sequence } of turns) {
      inputs.old_logprobs = now.get(sequence.turn);
      inputs.sample_logprobs = now.get(sequence.turn);
    }
  }

  private logprobs(model: string, sequences: readonly TurnSequence[]): Promise<LogprobsByTurn> {
    return scoreTurns(this.engine, model, sequences);
  }

  private async optimizerStep(
    part: readonly TrainedTurn[],
    learningRate: number,
    replayed: ReadonlySet<Turn>,
  ): Promise<{ metrics: Record<string, number>; digest: string; logprobs: [Turn, Float32Array][] }> {
    const { options, training, lossComponent, lossInputs } = this.algorithm;
    const { optimizer, max_grad_norm: maxGradNorm, num_minibatches: minPasses } = training;
    const turns = part.map((turn) => toTrain(turn, lossInputs, lossComponent.scope));
    const { data, owners } = mergeContinuations(
      turns,
      part.map(({ sequence }) => sequence),
    );
    const passes = await this.engine.forwardBackward({
      model: POLICY,
      data,
      loss: options.loss,
      regularizers: options.regularizers,
      minPasses,
    });
    const updated = await this.engine.optimStep({ model: POLICY, optimizer, learningRate, maxGradNorm });
    const logprobs = part.map(({ sequence }, index): [Turn, Float32Array] => [
      sequence.turn,
      atSampledTokens(sequence, passes.logprobs[owners[index]]),
    ]);
    const compared = logprobs
      .filter(([turn]) => !replayed.has(turn))
      .map(([turn, trained]) => ({ sampled: turn.logprobs, trained }));
    const metrics = {
      ...optimizerMetrics({ ...passes.metrics, ...updated.metrics }, compared),
      'optim/samples': part.length,
      'optim/sequences': data.length,
    };
    return { metrics, digest: updated.weights.digest, logprobs };
  }
}

function turnsOf({ trajectories }: Group): Turn[] {
  return trajectories.flatMap(({ turns }) => turns);
}

/** Parts of a batch, each with its share of the groups that are kept from earlier batches. */
function substepsOf(fresh: readonly Group[], kept: readonly Group[], count: number): Group[][] {
  const shares = split(kept, Math.min(count, fresh.length));
  return split(fresh, count).map((part, index) => [...part, ...(shares[index] ?? [])]);
}

/** The episodes with these rollout ids, in their order. */
function keptOf(groups: readonly Group[], rolloutIds: readonly string[] = []): Trajectory[] {
  const all = new Map(
    groups.flatMap(({ trajectories }) => trajectories).map((each) => [each.request.rolloutId, each]),
  );
  return rolloutIds.flatMap((rolloutId) => all.get(rolloutId) ?? []);
}
