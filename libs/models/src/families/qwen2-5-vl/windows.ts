import type { Grid } from '../common/positions';

/** Layout of an image's tokens in attention windows. */
export interface Windows {
  /** number of windows of the image; those at its right and lower edge are smaller */
  count: number;
  /** position of each token (row-major, of the merged grid): window · side² + position within the window */
  positions: Int32Array;
}

/**
 * Tiles the tokens of an image with square windows of `side` tokens, from the upper left; within a window tokens are
 * row-major, without gaps (`get_vision_window_index` of transformers).
 */
export function windowsOf([, h, w]: Grid, mergeSize: number, side: number): Windows {
  const [rows, columns] = [h / mergeSize, w / mergeSize];
  const across = Math.ceil(columns / side);
  const positions = new Int32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [windowRow, windowColumn] = [Math.floor(row / side), Math.floor(column / side)];
      const width = Math.min(side, columns - windowColumn * side);
      const within = (row % side) * width + (column % side);
      positions[row * columns + column] = (windowRow * across + windowColumn) * side * side + within;
    }
  }
  return { count: Math.ceil(rows / side) * across, positions };
}
