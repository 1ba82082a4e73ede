/**
 * Probability that at least one of `k` tries succeeds, estimated without bias from `successes` of `n` tries (Chen et al. 2021,
 * "Evaluating Large Language Models Trained on Code", equation 1). Null where `k` is more than `n`.
 */
export function passAtK(successes: number, n: number, k: number): number | null {
  if (k > n) return null;
  let allFail = 1;
  for (let failures = n - successes, place = 0; place < k; place++)
    allFail *= Math.max(0, failures - place) / (n - place);
  return 1 - allFail;
}
