import type { ResolvedInput } from '../training/data';

/** Tokens, and the images at their placeholder positions. */
export interface Sequence {
  tokenIds: Int32Array;
  /** Sorted by position. */
  images: readonly PlacedImage[];
}

export interface PlacedImage {
  /** Equal only for equal images. */
  key: string;
  /** First position. */
  start: number;
  /** Position after the last. */
  end: number;
}

/** A copy of a prompt's tokens, and the positions of its images. */
export function sequenceOf(input: ResolvedInput, imageTokenId: number): Sequence {
  return { tokenIds: Int32Array.from(input.tokenIds), images: placesOf(input, imageTokenId) };
}

/** The first tokens of a sequence. */
export function beginningOf({ tokenIds, images }: Sequence, length: number): Sequence {
  return { tokenIds: tokenIds.subarray(0, length), images: images.filter(({ start }) => start < length) };
}

/** Positions of a prompt's images; text may stand between the placeholders of one image. */
export function placesOf({ tokenIds, images }: ResolvedInput, imageTokenId: number): PlacedImage[] {
  const placed: PlacedImage[] = [];
  let image = -1;
  let left = 0;
  for (let place = 0; place < tokenIds.length; place += 1) {
    if (tokenIds[place] !== imageTokenId) continue;
    if (left === 0) {
      image += 1;
      if (images[image] === undefined) break;
      placed.push({ key: images[image].key, start: place, end: place + 1 });
      left = images[image].tokens;
    }
    placed[image].end = place + 1;
    left -= 1;
  }
  return placed;
}

/** Length of the common prefix of two sequences, of which `known` tokens are known to match. */
export function commonLength(a: Sequence, b: Sequence, known = 0): number {
  const most = Math.min(a.tokenIds.length, b.tokenIds.length);
  let length = known;
  while (length < most && a.tokenIds[length] === b.tokenIds[length]) length += 1;
  for (let image = 0; image < Math.min(a.images.length, b.images.length); image += 1) {
    const { key, start } = a.images[image];
    if (start >= length) break;
    if (key !== b.images[image].key) return start;
  }
  return length;
}
