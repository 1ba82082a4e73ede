const Z_95 = 1.959964;

/**
 * Wilson score interval at 95 % for `successes` of `n` (Wilson 1927, without continuity correction); [0, 1] without any.
 */
export function wilson(successes: number, n: number): [number, number] {
  if (n === 0) return [0, 1];
  const rate = successes / n;
  const z2 = Z_95 ** 2;
  const centre = rate + z2 / (2 * n);
  const spread = Z_95 * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n ** 2));
  const scale = 1 + z2 / n;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}
