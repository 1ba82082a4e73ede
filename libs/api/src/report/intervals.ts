/** Wilson score interval at 95 % for `successes` of `n`; [0, 1] without any. */
export function wilson(successes: number, n: number): [number, number] {
  if (n === 0) return [0, 1];
  const z = 1.959964;
  const rate = successes / n;
  const centre = rate + (z * z) / (2 * n);
  const spread = z * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n));
  const scale = 1 + (z * z) / n;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

export function percentWithInterval(share: number, [low, high]: [number, number]): string {
  return `${percent(share).padStart(5)}  [${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)}]`;
}
