/**
 * Renders pages into one picture: `node libs/testkit/run-ts.cjs libs/page-generator/test/preview.main.ts out.png
 * [seed] [count] [boxes]`. With `boxes`, draws the box of each character and element.
 */
import sharp from 'sharp';
import { generatePage, PageRenderer, type Box, type Screen } from '../src';

const GAP = 6;

function outline({ rgb, width, height }: Screen, [left, top, w, h]: Box, color: readonly number[]): void {
  const [x0, y0] = [Math.floor(left), Math.floor(top)];
  const [x1, y1] = [Math.min(width, Math.ceil(left + w)) - 1, Math.min(height, Math.ceil(top + h)) - 1];
  for (let y = y0; y <= y1; y++) {
    for (let x = x0; x <= x1; x++) {
      if (y === y0 || y === y1 || x === x0 || x === x1) rgb.set(color, (y * width + x) * 3);
    }
  }
}

async function main([file, seed = '0', count = '24', boxes]: string[]): Promise<void> {
  const renderer = await PageRenderer.launch();
  const pages = Array.from({ length: Number(count) }, (_, i) => generatePage(Number(seed) + i));
  const started = performance.now();
  const screens = await renderer.renderAll(pages);
  const seconds = (performance.now() - started) / 1000;
  await renderer.close();
  const characters = screens.reduce((sum, { truth }) => sum + truth.characters.length, 0);
  const elements = screens.reduce((sum, { truth }) => sum + truth.elements.length, 0);
  console.log(
    `${(screens.length / seconds).toFixed(1)} screens/s, ${characters} characters, ${elements} elements`,
  );
  const places: { screen: Screen; left: number; top: number }[] = [];
  let [left, top, row, width] = [0, 0, 0, 0];
  for (const screen of screens) {
    if (left + screen.width > 1500) [left, top, row] = [0, top + row + GAP, 0];
    places.push({ screen, left, top });
    left += screen.width + GAP;
    width = Math.max(width, left);
    row = Math.max(row, screen.height);
    if (boxes === undefined) continue;
    for (const element of screen.truth.elements)
      outline(screen, element.box, element.interactive ? [0, 160, 0] : [160, 160, 255]);
    for (const character of screen.truth.characters) outline(screen, character.box, [255, 0, 0]);
  }
  await sharp({ create: { width, height: top + row, channels: 3, background: '#888' } })
    .composite(
      places.map(({ screen, left, top }) => ({
        input: Buffer.from(screen.rgb),
        raw: { width: screen.width, height: screen.height, channels: 3 as const },
        left,
        top,
      })),
    )
    .png()
    .toFile(file);
}

void main(process.argv.slice(2));
