import sharp from 'sharp';

type Point = [number, number];
type Rgb = readonly [number, number, number];

/** The center of the area of exactly this color in a screenshot, in its pixels; null if there is none. */
export async function middleOf(png: Uint8Array, color: Rgb): Promise<Point | null> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const [xs, ys]: [number[], number[]] = [[], []];
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] !== color[0] || data[at + 1] !== color[1] || data[at + 2] !== color[2]) continue;
    xs.push((at / 3) % info.width);
    ys.push(Math.floor(at / 3 / info.width));
  }
  if (xs.length === 0) return null;
  const middle = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];
  return [middle(xs), middle(ys)];
}

/** The number of pixels that differ between two screenshots of the same size. */
export async function differing(one: Uint8Array, two: Uint8Array): Promise<number> {
  const [a, b] = await Promise.all([one, two].map((png) => sharp(png).removeAlpha().raw().toBuffer()));
  if (a.length !== b.length) return Infinity;
  let count = 0;
  for (let at = 0; at < a.length; at += 3) {
    if (a[at] !== b[at] || a[at + 1] !== b[at + 1] || a[at + 2] !== b[at + 2]) count += 1;
  }
  return count;
}
