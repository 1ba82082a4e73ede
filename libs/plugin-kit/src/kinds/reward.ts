import type { ComponentBase, Deadline, Log } from './component';
import type { ComponentChoice } from './engine';
import type { Episode } from './episode';

/** An episode and what the verifier says of it. */
export interface JudgedEpisode extends Episode {
  /** What the verifier says; null where nothing can judge the task. */
  success: boolean | null;
}

/** Named parts of a reward; they are summed. */
export type RewardParts = Readonly<Record<string, number>>;

/** What a reward says of an episode, in full. */
export interface DetailedReward {
  /** For the episode as a whole. */
  episode?: number | RewardParts;
  /** For single turns, in their order, as many as the episode has. */
  turns?: readonly (number | RewardParts)[];
  /**
   * Whether the task was done as the reward sees it, by its name or by that of whoever judged: compared with the verifier where that can
   * judge, too (`env/all/verdict/<name>/agreement` …), and paid for by nothing.
   */
  verdicts?: Readonly<Record<string, boolean>>;
}

/**
 * A number for the episode; named parts of it; or an object with `turns` or `verdicts`, see `DetailedReward`. A number alone is the part
 * that bears the reward's own name. The return of an episode is the sum of all.
 */
export type RewardResult = number | RewardParts | DetailedReward;

export interface RewardContext {
  log: Log;
  /** What the variables of the component's `environment` say on the actor's machine; those that are not set are missing. */
  environment: Readonly<Record<string, string>>;
  /** Makes another reward by name, with its options: for rewards that are made of others. Throws a `PluginError` where that cannot be. */
  reward: (choice: ComponentChoice) => Promise<Reward>;
}

/** Scores episodes. The parts of all rewards of a run are summed. */
export interface Reward {
  score(episode: JudgedEpisode, deadline: Deadline): Promise<RewardResult> | RewardResult;
}

export interface RewardComponent<Options = unknown> extends ComponentBase<
  'reward',
  Options,
  RewardContext,
  Promise<Reward> | Reward
> {
  /**
   * It can say of itself what an episode is worth, so that tasks may be learnt that no verifier can judge. Default false. One that is made
   * of others, which its options choose, judges where one of those does.
   */
  readonly judgesWithoutVerifier?: boolean;
  /**
   * Environment variables of the actor that it reads, and what each says: secrets, and addresses that are sent secrets, which no run file
   * may name.
   */
  readonly environment?: Readonly<Record<string, string>>;
}
