/** Discounted future rewards at each position: r_t + γ r_{t+1} + γ² r_{t+2} … */
export function discountedReturns(rewards_T: readonly number[], gamma: number): number[] {
  const returns = new Array<number>(rewards_T.length);
  let after = 0;
  for (let t = rewards_T.length - 1; t >= 0; t -= 1) {
    after = rewards_T[t] + gamma * after;
    returns[t] = after;
  }
  return returns;
}
