import type { Metadata } from 'sharp';
import { hiddenOrientation } from './exif';
import type { ImageSize, RgbImage } from './image';

/** Maps a displayed pixel to its position in the file. */
interface Turn {
  /** file rows are displayed as columns */
  swapped: boolean;
  /** file columns are counted from the right */
  fromRight: boolean;
  /** file rows are counted from the bottom */
  fromBelow: boolean;
}

const turn = (swapped: boolean, fromRight: boolean, fromBelow: boolean): Turn => ({
  swapped,
  fromRight,
  fromBelow,
});

/** By EXIF orientation (CIPA DC-008, tag 0x0112); 1 and invalid values mean no rotation. */
const turns: Readonly<Record<number, Turn>> = {
  2: turn(false, true, false),
  3: turn(false, true, true),
  4: turn(false, false, true),
  5: turn(true, false, false),
  6: turn(true, false, true),
  7: turn(true, true, true),
  8: turn(true, true, false),
};

/** The orientation of EXIF, or else of XMP, like Pillow's `exif_transpose`: 1 to 8. */
export function orientationOf(bytes: Uint8Array, { format, orientation, xmp, comments }: Metadata): number {
  const exif = orientation ?? (format === 'png' ? hiddenOrientation(bytes, comments) : undefined);
  const said = /tiff:Orientation(?:="|>)([0-9])/.exec(xmp?.toString('latin1') ?? '');
  const found = exif ?? Number(said?.[1] ?? 1);
  return found in turns ? found : 1;
}

/** Size of the displayed picture. */
export function orientedSize({ width, height }: ImageSize, orientation: number): ImageSize {
  return turns[orientation]?.swapped === true ? { width: height, height: width } : { width, height };
}

/** The displayed picture. */
export function turned(image: RgbImage, orientation: number): RgbImage {
  const way = turns[orientation];
  if (way === undefined) return image;
  const size = orientedSize(image, orientation);
  const data = new Uint8Array(image.data.length);
  let to = 0;
  for (let y = 0; y < size.height; y++) {
    for (let x = 0; x < size.width; x++, to += 3) {
      const [column, row] = way.swapped ? [y, x] : [x, y];
      const left = way.fromRight ? image.width - 1 - column : column;
      const top = way.fromBelow ? image.height - 1 - row : row;
      const from = (top * image.width + left) * 3;
      data[to] = image.data[from];
      data[to + 1] = image.data[from + 1];
      data[to + 2] = image.data[from + 2];
    }
  }
  return { data, ...size };
}
