import type { DescribedElement } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { occlude } from './occlude';

const WIDTH = 8;
const HEIGHT = 4;

const element = (label: string, box: DescribedElement['box']): DescribedElement => ({
  kind: 'row',
  label,
  box,
});

test('hidden elements take the colour of their corner, the others keep their pixels', async () => {
  const pixels = Buffer.from(Array.from({ length: WIDTH * HEIGHT * 3 }, (_, i) => (i * 37) % 256));
  const raw = { width: WIDTH, height: HEIGHT, channels: 3 as const };
  const png = await sharp(pixels, { raw }).png().toBuffer();
  const [left, right] = [element('left', [0, 0, 4, 4]), element('right', [4, 0, 4, 4])];
  const result = await occlude(png, [left, right], ({ label }) => label === 'left');
  expect(result.elements).toEqual([right]);
  const after = await sharp(result.png).raw().toBuffer();
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      const at = (y * WIDTH + x) * 3;
      const expected = x < 4 ? pixels.subarray(0, 3) : pixels.subarray(at, at + 3);
      expect(after.subarray(at, at + 3)).toEqual(expected);
    }
  }
});
