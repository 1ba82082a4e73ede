import { createHash } from 'node:crypto';

/**
 * Environment seeds: 31-bit integers, with a separate range for each use, so that evaluation seeds are never trained
 * on.
 *
 * | range | first | last |
 * |---|---|---|
 * | training | 0 | 1,073,741,823 |
 * | evaluation | 1,073,741,824 | 1,610,612,735 |
 * | published (tasks published by hand) | 1,610,612,736 | 2,147,483,647 |
 */
export const SEED_RANGES = {
  training: { first: 0, count: 2 ** 30 },
  evaluation: { first: 2 ** 30, count: 2 ** 29 },
  published: { first: 2 ** 30 + 2 ** 29, count: 2 ** 29 },
} as const;
export type SeedRange = keyof typeof SEED_RANGES;

/** A seed of the range; the same parts give the same seed on every machine. */
export function environmentSeed(range: SeedRange, ...parts: (string | number)[]): number {
  const { first, count } = SEED_RANGES[range];
  return first + (hash([range, ...parts]) % count);
}

/** Sampler seed of one episode, 31 bits. */
export function samplingSeed(...parts: (string | number)[]): number {
  return hash(['sampling', ...parts]) % 2 ** 31;
}

function hash(parts: (string | number)[]): number {
  return createHash('sha256').update(JSON.stringify(parts)).digest().readUInt32BE(0);
}
