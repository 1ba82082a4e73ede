import { Random } from '@ui-rl/random';
import { whitenedEmbedding } from './whiten';

const FRAMES = 2;
const AREA = 4;
const CHANNELS = 3;
const SIZE = CHANNELS * AREA;

/** Patches whose pixels are mixed from a few sources of very different variance. */
function patches(count: number, random: Random): Float32Array {
  const mix = Array.from({ length: 4 }, () =>
    Array.from({ length: CHANNELS * AREA }, () => random.next() - 0.5),
  );
  const out = new Float32Array(count * SIZE);
  for (let row = 0; row < count; row++) {
    const sources = mix.map((_, index) => (random.next() - 0.5) * 2 * 3 ** -index);
    for (let i = 0; i < CHANNELS * AREA; i++) {
      const value = 0.3 + sources.reduce((sum, source, index) => sum + source * mix[index][i], 0);
      out[row * SIZE + i] = value;
    }
  }
  return out;
}

test('features of the patches have mean 0, variance near 1, and no correlation', () => {
  const rows = patches(2000, new Random(1));
  const width = 4;
  const { weight, bias } = whitenedEmbedding(
    rows,
    { channels: CHANNELS, frames: FRAMES, area: AREA },
    width,
    new Random(2),
  );
  const features = Array.from({ length: rows.length / SIZE }, (_, row) =>
    Array.from({ length: width }, (_, k) => {
      let sum = bias[k];
      for (let i = 0; i < SIZE * FRAMES; i++) {
        const pixel = Math.floor(i / (FRAMES * AREA)) * AREA + (i % AREA);
        sum += weight[k * SIZE * FRAMES + i] * rows[row * SIZE + pixel];
      }
      return sum;
    }),
  );
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  for (let k = 0; k < width; k++) {
    expect(mean(features.map((f) => f[k]))).toBeCloseTo(0, 3);
    for (let other = 0; other < k; other++) {
      expect(Math.abs(mean(features.map((f) => f[k] * f[other])))).toBeLessThan(0.02);
    }
  }
  expect(mean(features.map((f) => f[0] ** 2))).toBeCloseTo(1, 1);
});
