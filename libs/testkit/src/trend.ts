/** A linear trend by least squares. */
export interface Trend {
  begin: number;
  end: number;
  /** Per unit of `at`; null if there are too few values. */
  slope: number | null;
  /** Standard error of the slope. */
  error: number | null;
}

/** Initial share of the values that is ignored, since caches fill up. */
const SETTLING = 0.2;
const FEWEST = 5;

/**
 * The trend of values by their time, in order. `from` is the first `at` that counts: by default a fifth of the last
 * one.
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

/** A significant increase above this share of the initial value, over the whole measurement, counts as growth. */
const TOLERATED = 0.1;
const STANDARD_ERRORS = 3;
/** With fewer episodes, memory still reflects the start of the process. */
const FEWEST_EPISODES = 200;

export type Growth = Trend & { grows: boolean };

/**
 * The trend of values by the number of preceding episodes, `from` as for `trendOf`, and whether it is unbounded
 * growth.
 */
export function growthOf(
  points: readonly (readonly [episodes: number, value: number])[],
  from?: number,
): Growth {
  const trend = trendOf(points, from);
  const { begin, slope, error } = trend;
  const episodes = points.at(-1)?.[0] ?? 0;
  if (slope === null || error === null || episodes < FEWEST_EPISODES) {
    return { ...trend, slope: null, grows: false };
  }
  const isCertain = slope > STANDARD_ERRORS * error;
  return { ...trend, grows: isCertain && slope * episodes > TOLERATED * Math.max(begin, 1) };
}

/** As text, per 1,000 episodes. */
export function growthInWords({ slope, error }: Growth): string {
  if (slope === null || error === null) return 'too short to tell';
  return `${(slope * 1_000).toFixed(1)} ± ${(error * 1_000).toFixed(1)}`;
}
