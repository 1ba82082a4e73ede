export interface RejectionOptions {
  /** Episodes whose return exceeds this are kept. */
  rewardThreshold: number;
  /** Of those, keep only the ones that reach the best return of their group. */
  bestOfGroup?: boolean;
}

/** Which episodes of a group rejection sampling trains on, by cross-entropy on their sampled tokens. */
export function selectByReward(rewards_G: readonly number[], options: RejectionOptions): boolean[] {
  const best = Math.max(...rewards_G);
  return rewards_G.map(
    (reward) => reward > options.rewardThreshold && (options.bestOfGroup !== true || reward === best),
  );
}
