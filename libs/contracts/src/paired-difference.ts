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

/** A p-value below this is significant. */
const SIGNIFICANT = 0.05;

/**
 * Whether the rates of the two differ by more than chance, by McNemar's exact test with p < 0.05. Newcombe's interval
 * can leave out 0 with three pairs that differ, which chance alone turns the same way in one of four cases.
 */
export function isPairedSignificant({ onlyFirst, onlySecond }: Pairs): boolean {
  const apart = onlyFirst + onlySecond;
  const lower = Array.from({ length: Math.min(onlyFirst, onlySecond) + 1 }, (_, k) =>
    Math.exp(logChoose(apart, k) - apart * Math.LN2),
  );
  return 2 * sum(lower) < SIGNIFICANT;
}

/** The same of different episodes, by Fisher's exact test. */
export function isIndependentSignificant(
  before: { successes: number; episodes: number },
  after: { successes: number; episodes: number },
): boolean {
  const successes = before.successes + after.successes;
  const all = before.episodes + after.episodes;
  const least = Math.max(0, successes - after.episodes);
  const most = Math.min(before.episodes, successes);
  const probability = (k: number): number =>
    Math.exp(
      logChoose(before.episodes, k) + logChoose(after.episodes, successes - k) - logChoose(all, successes),
    );
  const found = probability(before.successes);
  const possible = Array.from({ length: most - least + 1 }, (_, index) => probability(least + index));
  // Rounding must not separate equally probable outcomes.
  return sum(possible.filter((each) => each <= found * (1 + 1e-7))) < SIGNIFICANT;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Natural logarithm of n over k. */
function logChoose(n: number, k: number): number {
  return sum(Array.from({ length: k }, (_, index) => Math.log((n - index) / (index + 1))));
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
