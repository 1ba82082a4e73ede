/** A named rectangle on the screen, in pixels. */
export interface Target {
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

const LABELS = [
  'Apple',
  'Bread',
  'Chair',
  'Dress',
  'Eagle',
  'Fruit',
  'Glass',
  'Horse',
  'Index',
  'Juice',
  'Knife',
  'Lemon',
  'Mango',
  'Night',
  'Ocean',
  'Piano',
];

export const MOST_TARGETS = LABELS.length;

/**
 * Targets in grid cells, near the corners of the screen and at random positions in other cells, so that scaling
 * errors show. Deterministic for the same arguments.
 */
export function layTargets({
  width,
  height,
  count,
}: {
  width: number;
  height: number;
  count: number;
}): Target[] {
  const columns = Math.min(count, Math.max(1, Math.round(Math.sqrt((count * width) / height))));
  const rows = Math.ceil(count / columns);
  const cell = { width: width / columns, height: height / rows };
  const size = {
    width: Math.max(8, Math.min(96, Math.floor(cell.width * 0.6))),
    height: Math.max(8, Math.min(48, Math.floor(cell.height * 0.5))),
  };
  return Array.from({ length: count }, (_, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    return {
      label: LABELS[index],
      x: Math.round(column * cell.width + (cell.width - size.width) * part(column, columns, index)),
      y: Math.round(row * cell.height + (cell.height - size.height) * part(row, rows, index + 5)),
      ...size,
    };
  });
}

/** Position of a target within its cell, from 0 to 1; outer cells place it at the edge of the screen. */
function part(at: number, cells: number, index: number): number {
  if (at === 0) return 0.05;
  if (at === cells - 1) return 0.95;
  return ((index * 7) % 11) / 10;
}
