import type { Box } from '@ui-rl/page-generator';

export const right = ([left, , width]: Box): number => left + width;
export const bottom = ([, top, , height]: Box): number => top + height;

export function contains(outer: Box, inner: Box): boolean {
  return (
    inner[0] >= outer[0] - 1 &&
    inner[1] >= outer[1] - 1 &&
    right(inner) <= right(outer) + 1 &&
    bottom(inner) <= bottom(outer) + 1
  );
}

export function holds([left, top, width, height]: Box, x: number, y: number): boolean {
  return x >= left && x < left + width && y >= top && y < top + height;
}

/** Horizontal overlap as a share of the narrower box's width; at most 0 if the boxes are side by side. */
export function sharedWidth(a: Box, b: Box): number {
  return (Math.min(right(a), right(b)) - Math.max(a[0], b[0])) / Math.min(a[2], b[2]);
}

/** Vertical overlap as a share of the lower box's height; at most 0 if one is above the other. */
export function sharedHeight(a: Box, b: Box): number {
  return (Math.min(bottom(a), bottom(b)) - Math.max(a[1], b[1])) / Math.min(a[3], b[3]);
}

export type Side = 'left' | 'right' | 'above' | 'below';

/** Pixels between an anchor and a box on that side of it; negative if the box is not on that side. */
export function gap(anchor: Box, box: Box, side: Side): number {
  if (side === 'left') return anchor[0] - right(box);
  if (side === 'right') return box[0] - right(anchor);
  if (side === 'above') return anchor[1] - bottom(box);
  return box[1] - bottom(anchor);
}

/** Whether a box is on that side of the anchor, in its row or its column. */
export function isAligned(anchor: Box, box: Box, side: Side): boolean {
  const shared = side === 'left' || side === 'right' ? sharedHeight(anchor, box) : sharedWidth(anchor, box);
  return shared >= 0.5 && gap(anchor, box, side) >= -1;
}
