import type { Task } from '@ui-rl/contracts';
import type { ComponentBase } from './component';

/**
 * Per-token arrays that the learner can compute before it estimates advantages: `values` of the critic, and
 * log-probabilities under the base model (`reference_logprobs`) or the run's teacher (`teacher_logprobs`).
 */
export const ADVANTAGE_INPUTS = ['values', 'reference_logprobs', 'teacher_logprobs'] as const;
export type AdvantageInput = (typeof ADVANTAGE_INPUTS)[number];

/** One turn of an episode: T sampled tokens. */
export interface TurnExperience {
  /** Reward of this turn. The last turn also includes the reward of the episode as a whole. */
  reward: number;
  /** sha256 of the screenshot that the policy saw. */
  screenshot: string;
  /** Log-probabilities [T] under the policy that sampled. */
  logprobs: Float32Array;
  /** The arrays that the estimator declares in `inputs`, [T] each. */
  inputs: Readonly<Partial<Record<AdvantageInput, Float32Array>>>;
}

export interface EpisodeExperience {
  rolloutId: string;
  /** The return: the sum of all parts. */
  reward: number;
  /** Name of a part → its sum over the episode. */
  rewards: Readonly<Record<string, number>>;
  success: boolean | null;
  status: 'completed' | 'truncated';
  turns: readonly TurnExperience[];
}

/** Episodes of one task from one start, without invalid ones. */
export interface EpisodeGroup {
  task: Task;
  episodes: readonly EpisodeExperience[];
  /** From an earlier batch: the estimator requested it again (`keep`). It has one episode. */
  isReplayed?: boolean;
}

export interface AdvantageEstimate {
  /**
   * [group][episode][turn]: one number per sampled token of the turn, or null to exclude the episode from training.
   */
  advantages: (Float32Array[] | null)[][];
  /** Training targets of a critic, in the same form. */
  returns?: (Float32Array[] | null)[][];
  /** Name → value; published as `advantage/<name>`. */
  metrics?: Record<string, number>;
  /**
   * JSON that the estimator receives with the next batch. Saved with the step, so that a resumed run continues with
   * it.
   */
  memory?: unknown;
  /** Rollout ids of the given episodes to present again in the next batch; others are dropped. */
  keep?: readonly string[];
}

export interface AdvantageEstimator {
  /**
   * Estimates a whole batch of groups, with replayed groups at the end. Throws an error that names an episode with an
   * invalid reward. Must have no side effects: a batch that cannot be trained is discarded.
   * @param memory of the previous batch; undefined for the first
   * @param untrained groups without a learning signal that were played for this batch but are not trained on
   *   (`algorithm.dynamic_sampling`), without the arrays of `inputs`: for statistics over all played episodes. They
   *   get no estimates.
   */
  estimate(
    groups: readonly EpisodeGroup[],
    memory?: unknown,
    untrained?: readonly EpisodeGroup[],
  ): AdvantageEstimate;
  /**
   * Whether training on the group would change the policy. Default: whether the rewards of its episodes differ.
   * Called when a group is complete, without the arrays of `inputs`. If it is true for every group, declare
   * `learnsFromEveryGroup` instead.
   * @param memory as for `estimate`
   */
  hasLearningSignal?(group: EpisodeGroup, memory?: unknown): boolean;
}

export interface AdvantageComponent<Options = unknown> extends ComponentBase<
  'advantage',
  Options,
  Record<string, never>,
  AdvantageEstimator
> {
  /** Arrays to compute for each turn. */
  readonly inputs?: readonly AdvantageInput[];
  /**
   * `advantages` (default): signed numbers, for losses that read `advantages`. `selection`: non-negative weights of
   * the episodes to imitate, null for the others, for losses that do not.
   */
  readonly gives?: 'advantages' | 'selection';
  /** Whether estimates include `returns`, for losses that read them. Default false. */
  readonly givesReturns?: boolean;
  /**
   * Default loss of runs that use this estimator. Default `importance_sampling`; for `selection`, `cross_entropy`.
   */
  readonly defaultLoss?: string;
  /**
   * Whether it learns from every group, including those whose episodes all have the same reward. Default false.
   * Cannot be combined with `algorithm.dynamic_sampling`, because no group needs replacement.
   */
  readonly learnsFromEveryGroup?: boolean;
  /** Minimum number of episodes per group. Default 2 for `advantages`, 1 for `selection`. */
  readonly minGroupSize?: number;
}
