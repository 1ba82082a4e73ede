import type { ImageGeometry } from '../base';
import type { ImagePrompt } from '../common/model';

const AROUND = '<fake_token_around_image>';
const OVERVIEW = '<global-img>';

/** Position tokens of tiles exist for this many rows and columns. */
const LARGEST = 6;

function place(row: number, column: number): string {
  return `<row_${row + 1}_col_${column + 1}>`;
}

function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/**
 * Images in a prompt: tile after tile with its position token, one line per row of tiles, then an empty line and the
 * overview.
 * An image that was not cut consists of the overview only.
 *
 * @param tileTokens tokens of one tile.
 */
export function tiledPrompt(tileTokens: (image: ImageGeometry) => number): ImagePrompt {
  return {
    imageText: (image, imageToken) => {
      const [rows, columns] = image.tiles ?? [0, 0];
      const lines = numbersTo(rows).map((row) => {
        const tiles = numbersTo(columns).map((column) => `${AROUND}${place(row, column)}${imageToken}`);
        return `${tiles.join('')}\n`;
      });
      const before = rows === 0 ? '' : `${lines.join('')}\n`;
      return {
        text: `${before}${AROUND}${OVERVIEW}${imageToken}${AROUND}`,
        runs: Array<number>(rows * columns + 1).fill(tileTokens(image)),
      };
    },
    imageMarks: [
      AROUND,
      OVERVIEW,
      ...numbersTo(LARGEST).flatMap((row) => numbersTo(LARGEST).map((column) => place(row, column))),
    ],
  };
}
