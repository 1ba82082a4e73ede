import type { ImageGeometry } from '../families/base';
import { NativeSizeImages, parseNativeSizeImages } from './native-size';

const model = {
  shape: { modelType: 'idefics2', patchSize: 14 },
  imageTokens: ({ grid }: ImageGeometry) => grid[0] * 64,
};

function native(json: object = {}): NativeSizeImages {
  return new NativeSizeImages(parseNativeSizeImages(json as Record<string, unknown>, 'f', model));
}

test.each([
  // width, height → rows and columns of patches: kept, downscaled, upscaled
  [500, 600, [1, 42, 35]],
  [1080, 2400, [1, 70, 31]],
  [1960, 980, [1, 35, 70]],
  [100, 400, [1, 28, 27]],
])('an image of %i×%i has patches %j', (width, height, grid) => {
  expect(native().geometryOf({ width, height })).toEqual({ grid });
});

test('the quarters of an image stand before it, each in its own size', () => {
  const split = native({ do_image_splitting: true });
  expect(split.geometryOf({ width: 1600, height: 1600 })).toEqual({
    grid: [5, 70, 70],
    pictures: [
      [57, 57],
      [57, 57],
      [57, 57],
      [57, 57],
      [70, 70],
    ],
  });
  expect(split.geometryOf({ width: 1960, height: 1960 })).toEqual({ grid: [5, 70, 70] });
  expect(() => split.geometryOf({ width: 1, height: 9 })).toThrow(/1×9 pixels; expected at least 2×2/);
});

test('quarters show their part', () => {
  const split = native({ do_image_splitting: true, size: { shortest_edge: 14, longest_edge: 980 } });
  const data = Uint8Array.from({ length: 28 * 28 * 3 }, (_, index) => {
    const [x, y] = [Math.floor(index / 3) % 28, Math.floor(index / (28 * 3))];
    return 60 * ((x < 14 ? 0 : 1) + (y < 14 ? 0 : 2));
  });
  const image = { data, width: 28, height: 28 };
  expect(split.geometryOf(image).pictures?.slice(3)).toEqual([
    [1, 1],
    [2, 2],
  ]);
  const patches = split.patchesOf(image);
  const level = (patch: number): number => Math.round(((patches[patch * 588] + 1) / 2) * 255);
  expect([0, 1, 2, 3].map(level)).toEqual([0, 60, 120, 180]);
  expect([4, 5, 6, 7].map(level)).toEqual([0, 60, 120, 180]);
  expect(patches).toHaveLength(8 * 588);
});

test.each([
  [{ do_image_splitting: 1 }, /"do_image_splitting" is 1; expected true or false/],
  [{ size: { shortest_edge: 10 } }, /"size".*expected a shortest_edge of at least one patch, 14 pixels/],
  [{ do_normalize: false }, /"do_normalize": false is not supported/],
])('%j is refused', (json, message) => {
  expect(() => native(json)).toThrow(message);
});
