import type { Task } from '@ui-rl/contracts';
import type { ComponentBase } from './component';

/** Arrays the learner can compute for sampled tokens before advantages are estimated. */
export const ADVANTAGE_INPUTS = ['values', 'reference_logprobs'] as const;
export type AdvantageInput = (typeof ADVANTAGE_INPUTS)[number];

/** One turn of an episode: T sampled tokens. */
export interface TurnExperience {
  /** Reward of this turn. What the episode earned as a whole is added to its last turn. */
  reward: number;
  /** sha256 of the screenshot the policy saw. */
  screenshot: string;
  /** Log-probabilities [T] under the policy that sampled. */
  logprobs: Float32Array;
  /** What the estimator declared in `inputs`, [T] each. */
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

/** Episodes of one task from one start. Invalid ones are not among them. */
export interface EpisodeGroup {
  task: Task;
  episodes: readonly EpisodeExperience[];
  /** Of an earlier batch: the estimator wanted it again (`keep`). It has one episode. */
  isReplayed?: boolean;
}

export interface AdvantageEstimate {
  /** [group][episode][turn]: one number per sampled token of the turn, or null: the episode is not trained on. */
  advantages: (Float32Array[] | null)[][];
  /** What a critic is trained towards, in the same form. */
  returns?: (Float32Array[] | null)[][];
  /** Name → value; published as `advantage/<name>`. */
  metrics?: Record<string, number>;
  /** What the estimator is told at the next batch, as JSON. Saved with the step: a run that was stopped goes on with it. */
  memory?: unknown;
  /** Rollout ids of those of the given episodes that it wants to see again in the next batch; others are forgotten. */
  keep?: readonly string[];
}

export interface AdvantageEstimator {
  /**
   * The whole batch at once, in groups, those that it wanted to see again at the end. Throws an error that names the episode whose
   * reward makes no sense. Changes nothing: a batch that cannot be trained is as if it had never been.
   * @param memory of the batch before; undefined for the first
   * @param untrained groups without a learning signal that were played for this batch and are not trained (`algorithm.dynamic_sampling`),
   *   without the arrays of `inputs`: for what is counted over all that was played. Nothing is estimated of them.
   */
  estimate(
    groups: readonly EpisodeGroup[],
    memory?: unknown,
    untrained?: readonly EpisodeGroup[],
  ): AdvantageEstimate;
  /**
   * Whether training on the group would change anything. Default: whether rewards of its episodes differ. Asked as soon as a group
   * is complete, without the arrays of `inputs`. One that would say so of every group declares `learnsFromEveryGroup`.
   */
  hasLearningSignal?(group: EpisodeGroup): boolean;
}

export interface AdvantageComponent<Options = unknown> extends ComponentBase<
  'advantage',
  Options,
  Record<string, never>,
  AdvantageEstimator
> {
  /** Arrays it wants with each turn. */
  readonly inputs?: readonly AdvantageInput[];
  /**
   * `advantages` (default): signed numbers, for losses that read `advantages`. `selection`: weights of what is imitated, 1 or any from
   * 0 on, null for the rest, for losses that do not.
   */
  readonly gives?: 'advantages' | 'selection';
  /** Whether estimates have `returns`, for losses that read them. Default false. */
  readonly givesReturns?: boolean;
  /** Name of the algorithm that it makes with its loss, by which a run file may choose it, too: `algorithm: ppo`. */
  readonly algorithm?: string;
  /** Loss of runs that name none. Default `importance_sampling`, for `selection` `cross_entropy`. */
  readonly defaultLoss?: string;
  /**
   * Whether it learns from every group, from one whose episodes all earned the same, too. Default false. There is nothing then in whose
   * place `algorithm.dynamic_sampling` could put others: the two are refused together.
   */
  readonly learnsFromEveryGroup?: boolean;
  /** Fewest episodes of a group, default 2 for `advantages`, 1 for `selection`. */
  readonly minGroupSize?: number;
}
