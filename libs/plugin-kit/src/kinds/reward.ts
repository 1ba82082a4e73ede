import type { ComponentBase, Deadline, Log } from './component';
import type { ComponentChoice } from './engine';
import type { Episode } from './episode';

/** An episode with the verifier's verdict. */
export interface JudgedEpisode extends Episode {
  /** The verifier's verdict; null if no verifier can judge the task. */
  success: boolean | null;
}

/** Named parts of a reward; they are summed. */
export type RewardParts = Readonly<Record<string, number>>;

/** A reward with all of its details. */
export interface DetailedReward {
  /** For the episode as a whole. */
  episode?: number | RewardParts;
  /** For each turn, in order, as many as the episode has. */
  turns?: readonly (number | RewardParts)[];
  /**
   * Whether the task succeeded according to this reward or another judge, by name: compared with the verifier's
   * verdict if there is one (`env/all/verdict/<name>/agreement` …). Not part of the return.
   */
  verdicts?: Readonly<Record<string, boolean>>;
}

/**
 * A number for the episode; named parts of it; or an object with `turns` or `verdicts`, see `DetailedReward`. A plain
 * number becomes the part with the reward's own name. The return of an episode is the sum of all parts.
 */
export type RewardResult = number | RewardParts | DetailedReward;

export interface RewardContext {
  log: Log;
  /** Values of the variables of the component's `environment` on the actor's machine; unset ones are missing. */
  environment: Readonly<Record<string, string>>;
  /**
   * Creates another reward by name, with its options, for composite rewards. Throws a `PluginError` if that fails.
   */
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
   * Whether it can score episodes of tasks that no verifier can judge, so that a run may train on them. Default
   * false. A composite reward can if one of the rewards in its options can.
   */
  readonly judgesWithoutVerifier?: boolean;
  /**
   * Environment variables of the actor that it reads, with descriptions: secrets, and addresses that receive secrets,
   * which no run file may name.
   */
  readonly environment?: Readonly<Record<string, string>>;
}
