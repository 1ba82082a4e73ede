import type { Box, Screen, ScreenTruth } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';

export interface Size {
  width: number;
  height: number;
}

/** Candidate positions, of which the one with the most characters is chosen. */
const CANDIDATES = 6;

/** A crop with many characters: pages are mostly empty, and empty areas teach little. */
export function denseCrop(screen: Screen, { width, height }: Size, random: Random): Screen {
  const [right, bottom] = [screen.width - width, screen.height - height];
  let best: { left: number; top: number; count: number } | undefined;
  for (let candidate = 0; candidate < CANDIDATES; candidate++) {
    const [left, top] = [random.below(right + 1), random.below(bottom + 1)];
    const count = countInside(screen.truth, [left, top, width, height]);
    if (best === undefined || count > best.count) best = { left, top, count };
  }
  return crop(screen, [best!.left, best!.top, width, height]);
}

/** The part of a screen inside a box. Elements that cross its edge keep their complete box. */
export function crop(screen: Screen, [left, top, width, height]: Box): Screen {
  const rgb = new Uint8Array(width * height * 3);
  for (let row = 0; row < height; row++) {
    const from = ((top + row) * screen.width + left) * 3;
    rgb.set(screen.rgb.subarray(from, from + width * 3), row * width * 3);
  }
  const moved = ([x, y, w, h]: Box): Box => [x - left, y - top, w, h];
  return {
    seed: screen.seed,
    width,
    height,
    rgb,
    truth: {
      width,
      height,
      characters: screen.truth.characters
        .map((character) => ({ ...character, box: moved(character.box) }))
        .filter(({ box }) => isInside(box, { width, height })),
      elements: screen.truth.elements
        .map((element) => ({
          ...element,
          box: moved(element.box),
          center: [element.center[0] - left, element.center[1] - top] as const,
        }))
        .filter(({ box: [x, y, w, h] }) => x < width && y < height && x + w > 0 && y + h > 0),
    },
  };
}

function isInside([x, y, w, h]: Box, { width, height }: Size): boolean {
  const [cx, cy] = [x + w / 2, y + h / 2];
  return cx >= 0 && cy >= 0 && cx < width && cy < height;
}

function countInside({ characters }: ScreenTruth, [left, top, width, height]: Box): number {
  let count = 0;
  for (const { box } of characters) {
    if (isInside([box[0] - left, box[1] - top, box[2], box[3]], { width, height })) count++;
  }
  return count;
}
