import type { GeneratedPage, Screen } from '../page';
import { generatePage } from '../generate';
import { PageRenderer } from './renderer';

let renderer: PageRenderer;

beforeAll(async () => {
  renderer = await PageRenderer.launch();
});

afterAll(() => renderer.close());

const pagesFrom = (seed: number, count: number): GeneratedPage[] =>
  Array.from({ length: count }, (_, i) => generatePage(seed + i));

/** Largest difference from the most frequent color within a box, from 0 to 765. */
function inkIn({ rgb, width }: Screen, [left, top, w, h]: readonly number[]): number {
  const colors = new Map<number, number>();
  for (let y = Math.floor(top); y < Math.ceil(top + h); y++) {
    for (let x = Math.floor(left); x < Math.ceil(left + w); x++) {
      const at = (y * width + x) * 3;
      const color = (rgb[at] << 16) | (rgb[at + 1] << 8) | rgb[at + 2];
      colors.set(color, (colors.get(color) ?? 0) + 1);
    }
  }
  const parts = (color: number): number[] => [color >> 16, (color >> 8) & 255, color & 255];
  const [[ground]] = [...colors].sort((a, b) => b[1] - a[1]);
  const distance = (color: number): number =>
    parts(color).reduce((sum, part, i) => sum + Math.abs(part - parts(ground)[i]), 0);
  return Math.max(...[...colors.keys()].map(distance));
}

/** Share of the bytes that differ by more than `tolerance`. */
function difference(a: Uint8Array, b: Uint8Array, tolerance: number): number {
  return a.filter((byte, i) => Math.abs(byte - b[i]) > tolerance).length / a.length;
}

// Chromium computes antialiased edges from coordinates of the sheet, so a few pixels at round corners depend on the
// position of a tile.
it('draws a page the same beside any others', async () => {
  const pages = pagesFrom(0, 60);
  const together = await renderer.renderAll(pages);
  for (const i of [3, 17, 31, 45, 59]) {
    const [alone] = await renderer.renderAll([pages[i]]);
    expect(difference(alone.rgb, together[i].rgb, 0)).toBeLessThan(0.01);
    expect(difference(alone.rgb, together[i].rgb, 40)).toBe(0);
    expect(alone.truth).toEqual(together[i].truth);
  }
});

it('draws the same pixels again', async () => {
  const pages = pagesFrom(300, 20);
  const [first, second] = [await renderer.renderAll(pages), await renderer.renderAll(pages)];
  expect(first.map(({ rgb }, i) => Buffer.compare(rgb, second[i].rgb))).toEqual(pages.map(() => 0));
});

it('gives characters boxes with ink in them', async () => {
  const screens = await renderer.renderAll(pagesFrom(1000, 100));
  const characters = screens.flatMap((screen) =>
    screen.truth.characters.map(({ text, box }) => ({ text, box, screen })),
  );
  expect(characters.length).toBeGreaterThan(4000);
  const blank = characters.filter(({ box, screen }) => inkIn(screen, box) < 60);
  expect(blank.map(({ text, box, screen }) => `${screen.seed}: ${text} at ${box.join(' ')}`)).toEqual([]);
});

it('keeps boxes and centers on the screen', async () => {
  for (const { truth, width, height } of await renderer.renderAll(pagesFrom(2000, 60))) {
    for (const { box, center } of truth.elements) {
      const [left, top, w, h] = box;
      expect([left >= 0, top >= 0, left + w <= width + 1e-6, top + h <= height + 1e-6]).toEqual([
        true,
        true,
        true,
        true,
      ]);
      expect(center[0] >= left && center[0] <= left + w && center[1] >= top && center[1] <= top + h).toBe(
        true,
      );
    }
    expect(new Set(truth.elements.map(({ id }) => id)).size).toBe(truth.elements.length);
  }
});
