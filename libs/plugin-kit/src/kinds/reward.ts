import type { ComponentBase, Deadline, Log } from './component';
import type { Episode } from './episode';

/** An episode and what the verifier says of it. */
export interface JudgedEpisode extends Episode {
  /** What the verifier says; null where nothing can judge the task. */
  success: boolean | null;
}

/** Named parts of a reward; they are summed. */
export type RewardParts = Readonly<Record<string, number>>;

/**
 * A number for the episode; named parts of it; or parts for the episode and for single turns, in the order of the turns. A
 * number alone is the part that bears the reward's own name. The return of an episode is the sum of all.
 */
export type RewardResult =
  number | RewardParts | { episode?: number | RewardParts; turns: readonly (number | RewardParts)[] };

export interface RewardContext {
  log: Log;
}

/** Scores episodes. The parts of all rewards of a run are summed. */
export interface Reward {
  score(episode: JudgedEpisode, deadline: Deadline): Promise<RewardResult> | RewardResult;
}

export type RewardComponent<Options = unknown> = ComponentBase<'reward', Options, RewardContext, Reward>;
