import type { MicroBatchLimits, TrainSample } from './types';

export const DEFAULT_LIMITS: Required<MicroBatchLimits> = { rows: 16, tokens: 2048, patches: 4096 };

/**
 * Sorts samples by length and cuts them into passes: neighbours of similar length waste little padding. A sample that
 * exceeds a limit alone gets a pass of its own.
 * @param minimum at least this many passes, as far as there are samples
 * @returns indices into `samples`
 */
export function planMicroBatches(
  samples: readonly TrainSample[],
  limits: MicroBatchLimits,
  minimum = 1,
): number[][] {
  const { rows, tokens, patches } = { ...DEFAULT_LIMITS, ...limits };
  const most = Math.min(rows, Math.max(1, Math.floor(samples.length / Math.max(1, minimum))));
  const order = samples
    .map((_, index) => index)
    .sort((a, b) => samples[a].tokenIds.length - samples[b].tokenIds.length || a - b);
  const batches: number[][] = [];
  let batch: number[] = [];
  let images = new Set<string>();
  let batchPatches = 0;
  for (const index of order) {
    const sample = samples[index];
    const added = patchesOf(sample, images);
    const fits =
      batch.length < most &&
      (batch.length + 1) * sample.tokenIds.length <= tokens &&
      batchPatches + added <= patches;
    if (batch.length > 0 && !fits) {
      batches.push(batch);
      [batch, images, batchPatches] = [[], new Set(), 0];
    }
    batchPatches += patchesOf(sample, images);
    for (const image of sample.images) images.add(image.key);
    batch.push(index);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Patches a sample adds to a pass that holds `images` already: distinct screenshots are encoded once. */
function patchesOf(sample: TrainSample, images: ReadonlySet<string>): number {
  const fresh = new Map(
    sample.images.filter(({ key }) => !images.has(key)).map((image) => [image.key, image]),
  );
  let patches = 0;
  for (const { grid } of fresh.values()) patches += grid[0] * grid[1] * grid[2];
  return patches;
}
