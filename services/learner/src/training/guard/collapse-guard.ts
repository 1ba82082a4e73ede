import type { GroupResult } from '@ui-rl/contracts';
import type { CollapseGuardGroup } from '@ui-rl/settings';
import { firstState, type GuardState } from './guard-state';
import {
  asGood,
  isFarBelow,
  NO_SCORE,
  NOTHING_COMPARED,
  percent,
  TaskScores,
  together,
  wilsonLow,
  type Comparison,
  type Score,
} from './scores';

/** The performance of the policy that sampled a batch, before training on it. */
export interface GuardedBatch {
  /** Oldest policy that sampled it. */
  step: number;
  /** Results of its groups, including those without a learning signal. */
  results: readonly GroupResult[];
  /** Parsable answers of all answers. */
  readable: Score;
  hasSignal: boolean;
}

/** Train on the batch, or restore the weights of an earlier step instead. */
export type Verdict = { kind: 'train' } | { kind: 'restore'; step: number; reason: string };

const TRAIN: Verdict = { kind: 'train' };
/** Number of batches whose share of parsable answers is remembered. */
const READABLE_BATCHES = 20;
/**
 * Number of consecutive worse batches that are compared with earlier ones; beyond it, the lower level counts as
 * normal.
 */
const MAX_WORSE = 8;
/** A low batch with a learning signal may recover, but not two in a row. */
const LOW_BATCHES = 2;
/** A run is solved when the lower end of the 95 % interval of its success exceeds this. */
const SOLVED = 0.9;
/** Without a drop in success, batches without a signal may be chance: the guard waits this many times longer. */
const LONGER = 4;

/**
 * Monitors the batches of a run for a collapse of the policy: success on the same tasks, or the share of parsable
 * answers, falls far below the earlier best, or the learning signal disappears. Decides when to go back to the best
 * weights with a smaller learning rate, and when the run should end. Decisions depend only on the batches; the state
 * is saved with each step.
 */
export class CollapseGuard {
  constructor(
    private readonly options: CollapseGuardGroup,
    readonly state: GuardState = firstState(),
  ) {}

  /** Why the run should end; undefined while it should continue. */
  get ended(): string | undefined {
    return this.state.ended;
  }

  /** Judges a batch before training on it. */
  judge(batch: GuardedBatch): Verdict {
    if (!this.options.enabled) return TRAIN;
    const { state } = this;
    const fall = this.compare(batch);
    if (fall !== undefined && batch.step === state.notBefore) return this.acceptRestored(batch);
    state.quiet = batch.hasSignal ? 0 : state.quiet + 1;
    state.hadSignal ||= batch.hasSignal;
    state.low = fall === undefined ? 0 : state.low + 1;
    if (fall === undefined) return this.goOn(batch);
    return !batch.hasSignal || state.low >= LOW_BATCHES ? this.goBack(batch.step, fall) : TRAIN;
  }

  /** Compares a batch with earlier ones. @returns a description of the collapse; undefined if there is none */
  private compare({ results, readable }: GuardedBatch): string | undefined {
    const { state } = this;
    const { drop } = this.options;
    const compared = new TaskScores(state.scores).compare(results);
    const isGood = asGood(compared.observed, compared.mean) || state.worseBatches === MAX_WORSE;
    const worse = isGood ? NOTHING_COMPARED : together(state.worse, compared);
    Object.assign(state, { worse, worseBatches: isGood ? 0 : state.worseBatches + 1 });
    if (isFarBelow(worse.observed, worse.best, drop)) return `success fell to ${inWords(worse)}`;
    const best = bestOf(this.state.readable);
    if (!isFarBelow(readable, best, drop)) return undefined;
    return `the share of readable answers fell to ${percent(readable)}, from ${percent(best)}`;
  }

  /** Remembers a batch without a collapse. */
  private goOn(batch: GuardedBatch): Verdict {
    const { state } = this;
    const isWorse = state.worseBatches > 0;
    const scores = new TaskScores(state.scores);
    const isNew = isWorse ? false : scores.add(batch.results);
    if (!isWorse) Object.assign(state, { best: batch.step, scores: scores.entries });
    state.readable = [...state.readable, batch.readable].slice(-READABLE_BATCHES);
    this.countSolved(batch, isNew);
    if (state.quiet < this.options.patience) return TRAIN;
    if (state.hadSignal && isWorse)
      return this.goBack(batch.step, `${this.quietWords()}, and success fell to ${inWords(state.worse)}`);
    this.endWhereNothingIsLeft(scores);
    return TRAIN;
  }

  /**
   * Nothing was trained since the restore: the earlier best was luck, and this batch shows the real level of the
   * weights.
   */
  private acceptRestored(batch: GuardedBatch): Verdict {
    Object.assign(this.state, { scores: [], readable: [], worse: NOTHING_COMPARED, worseBatches: 0 });
    return this.goOn(batch);
  }

  private countSolved(batch: GuardedBatch, isNew: boolean): void {
    const { state } = this;
    const isSolved = !batch.hasSignal && !isNew && batch.results.every(({ score }) => score === 1);
    const episodes = batch.results.reduce((sum, result) => sum + result.episodes, 0);
    state.solvedEpisodes = isSolved ? state.solvedEpisodes + episodes : 0;
  }

  private goBack(from: number, why: string): Verdict {
    const { state, options } = this;
    const { best } = state;
    if (best === null) return TRAIN;
    Object.assign(state, { quiet: 0, low: 0, worse: NOTHING_COMPARED, worseBatches: 0 });
    if (state.restores === options.max_restores) {
      state.ended = `${why}; the run went back ${state.restores} times before, and ends with the weights of step ${best}`;
      return { kind: 'restore', step: best, reason: state.ended };
    }
    state.restores += 1;
    state.learningRate *= options.learning_rate_factor;
    const reason =
      `${why} at step ${from}: the run goes back to the weights of step ${best}, ` +
      `with ${shortNumber(state.learningRate)} of its learning rate (${state.restores} of ${options.max_restores} times)`;
    return { kind: 'restore', step: best, reason };
  }

  private endWhereNothingIsLeft(scores: TaskScores): void {
    const { state, options } = this;
    const { solvedEpisodes } = state;
    if (wilsonLow([solvedEpisodes, solvedEpisodes]) > SOLVED && scores.allSolved) {
      state.ended = `solved: the last ${solvedEpisodes} episodes all succeeded, so that ${this.quietWords()}`;
    } else if (state.quiet >= LONGER * options.patience) {
      state.ended = `${this.quietWords()}: in each of their groups all episodes earned the same, docs/guides/not-learning.md says what helps`;
    }
  }

  private quietWords(): string {
    return `no batch of the last ${this.state.quiet} had a learning signal`;
  }
}

/** The best reliable score. */
function bestOf(scores: readonly Score[]): Score {
  return scores.reduce((best, score) => (wilsonLow(score) > wilsonLow(best) ? score : best), NO_SCORE);
}

function inWords({ observed, best }: Comparison): string {
  return `${percent(observed)} of ${observed[1]} episodes, from ${percent(best)} on the same tasks`;
}

function shortNumber(value: number): string {
  return Number(value.toPrecision(2)).toString();
}
