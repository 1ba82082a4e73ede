import { wilson } from './wilson';

/** Outcomes of two candidates on the same attempts. */
export interface Pairs {
  both: number;
  onlyFirst: number;
  onlySecond: number;
  neither: number;
}

/**
 * Success rate of the second minus that of the first, with its 95 % interval for paired proportions (Newcombe 1998, "Improved confidence
 * intervals for the difference between binomial proportions based on paired data", method 10). Null without any pair.
 */
export function pairedDifference({ both, onlyFirst, onlySecond, neither }: Pairs): {
  difference: number;
  interval: [number, number];
} | null {
  const n = both + onlyFirst + onlySecond + neither;
  if (n === 0) return null;
  const [first, second] = [both + onlyFirst, both + onlySecond];
  const difference = (onlySecond - onlyFirst) / n;
  const phi = correlation({ both, onlyFirst, onlySecond, neither });
  const a = { rate: second / n, interval: wilson(second, n) };
  const b = { rate: first / n, interval: wilson(first, n) };
  const spread = (x: number, y: number) => Math.sqrt(Math.max(0, x ** 2 - 2 * phi * x * y + y ** 2));
  return {
    difference,
    interval: [
      difference - spread(a.rate - a.interval[0], b.interval[1] - b.rate),
      difference + spread(a.interval[1] - a.rate, b.rate - b.interval[0]),
    ],
  };
}

/**
 * Success rate after minus before, of different episodes, with its 95 % interval for independent proportions (Newcombe
 * 1998, "Interval estimation for the difference between independent proportions", method 10). Null if one of them has no
 * episode.
 */
export function independentDifference(
  before: { successes: number; episodes: number },
  after: { successes: number; episodes: number },
): { difference: number; interval: [number, number] } | null {
  if (before.episodes === 0 || after.episodes === 0) return null;
  const [a, b] = [after, before].map(({ successes, episodes }) => ({
    rate: successes / episodes,
    interval: wilson(successes, episodes),
  }));
  const difference = a.rate - b.rate;
  return {
    difference,
    interval: [
      difference - Math.hypot(a.rate - a.interval[0], b.interval[1] - b.rate),
      difference + Math.hypot(a.interval[1] - a.rate, b.rate - b.interval[0]),
    ],
  };
}

/** Correlation of the two outcomes, with continuity correction if it is positive; 0 if one of them is constant. */
function correlation({ both, onlyFirst, onlySecond, neither }: Pairs): number {
  const margins = (both + onlyFirst) * (onlySecond + neither) * (both + onlySecond) * (onlyFirst + neither);
  if (margins === 0) return 0;
  const n = both + onlyFirst + onlySecond + neither;
  const product = both * neither - onlyFirst * onlySecond;
  const corrected = product > 0 ? Math.max(0, product - n / 2) : product;
  return corrected / Math.sqrt(margins);
}
