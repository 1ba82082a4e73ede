import type { Box, Size } from './popup';

/** Space for a popup: the larger of the spaces above and below its control. */
export function roomFor(control: Box, viewport: Size): Size {
  const below = viewport.height - (control.y + control.height);
  return { width: viewport.width, height: Math.min(viewport.height, Math.max(below, control.y)) };
}

/**
 * Position of a popup: below its control if it fits, else above, else on the side with more space; moved and, if
 * necessary, scaled down so that it fits into the viewport. Whole CSS pixels.
 */
export function placePopup(size: Size, control: Box, viewport: Size, isRtl: boolean): Box {
  const shrunk = Math.min(1, viewport.width / size.width, viewport.height / size.height);
  const [width, height] = [Math.floor(size.width * shrunk), Math.floor(size.height * shrunk)];
  const bottom = control.y + control.height;
  const fitsBelow = bottom + height <= viewport.height;
  const isAbove = !fitsBelow && control.y > viewport.height - bottom;
  const x = isRtl ? control.x + control.width - width : control.x;
  const y = isAbove ? control.y - height : bottom;
  return { x: inside(x, width, viewport.width), y: inside(y, height, viewport.height), width, height };
}

function inside(start: number, length: number, room: number): number {
  return Math.round(Math.max(0, Math.min(start, room - length)));
}
