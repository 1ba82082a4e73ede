/** How something grows with the inputs, by least squares. */
export interface Trend {
  begin: number;
  end: number;
  /** By input; null where there are too few values to tell. */
  slope: number | null;
  /** Standard error of the slope. */
  error: number | null;
}

/** What comes before this part of the inputs fills caches. */
const SETTLING = 0.2;
const FEWEST = 5;

/** Pairs of inputs fed and a value, in the order of the inputs. */
export function trendOf(points: readonly (readonly [fed: number, value: number])[]): Trend {
  const total = points.at(-1)?.[0] ?? 0;
  const settled = points.filter(([fed]) => fed >= total * SETTLING);
  const [begin, end] = [settled[0]?.[1] ?? 0, settled.at(-1)?.[1] ?? 0];
  if (settled.length < FEWEST) return { begin, end, slope: null, error: null };
  const mean = (index: 0 | 1) => settled.reduce((sum, point) => sum + point[index], 0) / settled.length;
  const [meanFed, meanValue] = [mean(0), mean(1)];
  const spread = settled.reduce((sum, [fed]) => sum + (fed - meanFed) ** 2, 0);
  const slope =
    settled.reduce((sum, [fed, value]) => sum + (fed - meanFed) * (value - meanValue), 0) / spread;
  const rest = settled.reduce(
    (sum, [fed, value]) => sum + (value - meanValue - slope * (fed - meanFed)) ** 2,
    0,
  );
  return { begin, end, slope, error: Math.sqrt(rest / (settled.length - 2) / spread) };
}
