/**
 * Probability that at least one of `k` attempts succeeds, estimated without bias from `successes` of `n` attempts
 * (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1). Null if `k` exceeds `n`.
 */
export function passAtK(successes: number, n: number, k: number): number | null {
  if (k > n) return null;
  let allFail = 1;
  for (let failures = n - successes, place = 0; place < k; place++)
    allFail *= Math.max(0, failures - place) / (n - place);
  return 1 - allFail;
}
