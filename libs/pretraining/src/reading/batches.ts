import type { PromptFolder } from '@ui-rl/models';
import type { Screen } from '@ui-rl/page-generator';
import { mix32, Random } from '@ui-rl/random';
import { crop, denseCrop, type Size } from './crop';
import type { StepOfSupply } from '../supply/supplier';
import type { ScreenSource } from '../supply/source';
import { readingHeads } from './heads';
import type { ReadScreen } from './reader';
import { targetsOf } from './targets';

/** A kind of batch: a number of screen crops of the same size. */
interface BatchKind {
  /** of the crops, or of whole screens */
  size: Size;
  screens: number;
  /** crops per screen; undefined: whole screens */
  crops?: number;
  share: number;
}

/**
 * Wide and dense crops first: a screen is mostly empty, and its attention cost grows with the square of its patches.
 */
const KINDS: readonly BatchKind[] = [
  { size: { width: 128, height: 64 }, screens: 8, crops: 3, share: 0.4 },
  { size: { width: 160, height: 96 }, screens: 7, crops: 2, share: 0.35 },
  { size: { width: 160, height: 208 }, screens: 6, share: 0.13 },
  { size: { width: 160, height: 224 }, screens: 6, share: 0.04 },
  { size: { width: 224, height: 160 }, screens: 6, share: 0.04 },
  { size: { width: 320, height: 224 }, screens: 3, share: 0.04 },
];

/** The training batch of a step of the reading stage. */
export async function readBatch(
  source: ScreenSource,
  { imageProcessor: { preparation } }: PromptFolder,
  of: StepOfSupply,
): Promise<ReadScreen[]> {
  const heads = readingHeads();
  return (await screensOfStep(source, of)).map((screen) => ({
    image: {
      ...preparation.geometryOf(screen),
      patches: preparation.patchesOf({ width: screen.width, height: screen.height, data: screen.rgb }),
    },
    targets: targetsOf(screen.truth, heads),
  }));
}

async function screensOfStep(source: ScreenSource, { seed, step, batch }: StepOfSupply): Promise<Screen[]> {
  const random = new Random(mix32(mix32(seed) + step));
  const { size, crops, screens: count } = kindFor(random.next());
  const { width, height } = size;
  const screens = await source.any(random, count * batch, crops === undefined ? size : undefined);
  return screens
    .filter((screen) => screen.width >= width && screen.height >= height)
    .flatMap((screen) =>
      crops === undefined
        ? [crop(screen, [0, 0, width, height])]
        : Array.from({ length: crops }, () => denseCrop(screen, size, random)),
    );
}

function kindFor(at: number): BatchKind {
  let sum = 0;
  for (const kind of KINDS) {
    sum += kind.share;
    if (at < sum) return kind;
  }
  return KINDS[0];
}
