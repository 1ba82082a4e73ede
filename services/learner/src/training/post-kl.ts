/** Log-probabilities of the same tokens before and after a step. */
export interface MovedLogprobs {
  before: ArrayLike<number>;
  after: ArrayLike<number>;
}

/**
 * How far a step moved the policy, on the tokens of its batch: mean of log p(before) − log p(after), and half its
 * mean square.
 */
export function postKl(moved: Iterable<MovedLogprobs>): Record<string, number> {
  let [tokens, difference, squares] = [0, 0, 0];
  for (const { before, after } of moved) {
    for (let token = 0; token < before.length; token += 1) {
      const apart = before[token] - after[token];
      tokens += 1;
      difference += apart;
      squares += apart * apart;
    }
  }
  if (tokens === 0) return {};
  return { kl_pre_post_v1: difference / tokens, kl_pre_post_v2: (0.5 * squares) / tokens };
}
