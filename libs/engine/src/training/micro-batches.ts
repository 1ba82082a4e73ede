import type { ProcessedImage } from '@ui-rl/models';

/** Upper limits of one forward and backward pass; more memory allows fewer, larger passes. */
export interface MicroBatchLimits {
  /** Sequences. */
  rows?: number;
  /** Tokens, padding included. */
  tokens?: number;
  /** Image patches. */
  patches?: number;
}

export const DEFAULT_LIMITS: Required<MicroBatchLimits> = { rows: 16, tokens: 2048, patches: 4096 };

/** Size of a row in a pass. */
export interface RowSize {
  tokenIds: Pick<ArrayLike<number>, 'length'>;
  images: readonly Pick<ProcessedImage, 'key' | 'grid'>[];
}

/** Rows that must share a pass. */
interface Bundle {
  rows: number[];
  longest: number;
}

/**
 * Sorts rows by length and splits them into passes: similar lengths waste little padding. A bundle that exceeds a
 * limit alone gets its own pass.
 * @param minimum minimum number of passes, if there are enough bundles
 * @param bundleOf rows with the same key stay together; default: each is independent
 * @returns indices into `rows`
 */
export function planMicroBatches(
  rows: readonly RowSize[],
  limits: MicroBatchLimits,
  minimum = 1,
  bundleOf: (index: number) => unknown = (index) => index,
): number[][] {
  const { rows: most, tokens, patches } = { ...DEFAULT_LIMITS, ...limits };
  const mostRows = Math.min(most, Math.max(1, Math.floor(rows.length / Math.max(1, minimum))));
  const batches: number[][] = [];
  let batch: number[] = [];
  let images = new Set<string>();
  let batchPatches = 0;
  for (const { rows: added, longest } of bundles(rows, bundleOf)) {
    const size = batch.length + added.length;
    const fits =
      size <= mostRows &&
      size * longest <= tokens &&
      batchPatches + patchesOf(rows, added, images) <= patches;
    if (batch.length > 0 && !fits) {
      batches.push(batch);
      [batch, images, batchPatches] = [[], new Set(), 0];
    }
    batchPatches += patchesOf(rows, added, images);
    for (const index of added) for (const { key } of rows[index].images) images.add(key);
    batch.push(...added);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Bundles by their longest row, ascending. */
function bundles(rows: readonly RowSize[], bundleOf: (index: number) => unknown): Bundle[] {
  const known = new Map<unknown, Bundle>();
  rows.forEach(({ tokenIds }, index) => {
    const key = bundleOf(index);
    const bundle = known.get(key) ?? { rows: [], longest: 0 };
    bundle.rows.push(index);
    bundle.longest = Math.max(bundle.longest, tokenIds.length);
    known.set(key, bundle);
  });
  return [...known.values()].toSorted((a, b) => a.longest - b.longest || a.rows[0] - b.rows[0]);
}

/** Patches that rows add to a pass that already contains `images`: each distinct screenshot is encoded once. */
function patchesOf(rows: readonly RowSize[], added: readonly number[], images: ReadonlySet<string>): number {
  const fresh = new Map(
    added
      .flatMap((index) => rows[index].images)
      .filter(({ key }) => !images.has(key))
      .map(({ key, grid }) => [key, grid]),
  );
  let patches = 0;
  for (const grid of fresh.values()) patches += grid[0] * grid[1] * grid[2];
  return patches;
}
