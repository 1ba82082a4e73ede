import type { DescribedElement } from '@ui-rl/plugin-kit';
import sharp from 'sharp';

/**
 * A screenshot with some elements painted over in the color of their corner, and the remaining elements.
 *
 * Complete screens always show the same labels together, only in a different order. From these, a model that does not
 * know yet where to look cannot learn what the labels look like, and without that it cannot learn where to look.
 * Screens with few elements break this circle.
 */
export async function occlude(
  png: Uint8Array,
  elements: readonly DescribedElement[],
  hidden: (element: DescribedElement) => boolean,
): Promise<{ png: Uint8Array; elements: DescribedElement[] }> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  for (const { box } of elements.filter(hidden)) paintOver(data, info.width, info.height, box);
  const { width, height } = info;
  return {
    png: await sharp(data, { raw: { width, height, channels: 3 } })
      .png({ compressionLevel: 1 })
      .toBuffer(),
    elements: elements.filter((element) => !hidden(element)),
  };
}

function paintOver(
  data: Buffer,
  width: number,
  height: number,
  [left, top, w, h]: DescribedElement['box'],
): void {
  const corner = (top * width + left) * 3;
  const [r, g, b] = [data[corner], data[corner + 1], data[corner + 2]];
  for (let y = top; y < Math.min(height, top + h); y++) {
    for (let x = left; x < Math.min(width, left + w); x++) {
      const at = (y * width + x) * 3;
      data[at] = r;
      data[at + 1] = g;
      data[at + 2] = b;
    }
  }
}
