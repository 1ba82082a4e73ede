/** How something grows, by least squares. */
export interface Trend {
  begin: number;
  end: number;
  /** By unit of `at`; null where there are too few values to tell. */
  slope: number | null;
  /** Standard error of the slope. */
  error: number | null;
}

/** What comes before this part of all fills caches. */
const SETTLING = 0.2;
const FEWEST = 5;

/**
 * The trend of values by when they were taken, in order. `from` is the first `at` that counts: by default a fifth of the last one.
 */
export function trendOf(
  points: readonly (readonly [at: number, value: number])[],
  from = (points.at(-1)?.[0] ?? 0) * SETTLING,
): Trend {
  const settled = points.filter(([at]) => at >= from);
  const [begin, end] = [settled[0]?.[1] ?? 0, settled.at(-1)?.[1] ?? 0];
  if (settled.length < FEWEST) return { begin, end, slope: null, error: null };
  const mean = (index: 0 | 1) => settled.reduce((sum, point) => sum + point[index], 0) / settled.length;
  const [meanAt, meanValue] = [mean(0), mean(1)];
  const spread = settled.reduce((sum, [at]) => sum + (at - meanAt) ** 2, 0);
  const slope = settled.reduce((sum, [at, value]) => sum + (at - meanAt) * (value - meanValue), 0) / spread;
  const rest = settled.reduce(
    (sum, [at, value]) => sum + (value - meanValue - slope * (at - meanAt)) ** 2,
    0,
  );
  return { begin, end, slope, error: Math.sqrt(rest / (settled.length - 2) / spread) };
}
