import type { ImageGeometry } from '../base';
import { GotOcr2Images, parseGotOcr2Images } from './images';

/** A model with patches of 14 pixels, 2 × 2 per token. */
const model = {
  shape: { modelType: 'internvl', patchSize: 14 },
  imageTokens: ({ grid }: ImageGeometry) => (grid[0] * grid[1] * grid[2]) / 4,
};

function imagesOf(json: object): GotOcr2Images {
  return new GotOcr2Images(parseGotOcr2Images(json as Record<string, unknown>, 'f', model));
}

const published = {
  crop_to_patches: false,
  size: { height: 448, width: 448 },
  min_patches: 1,
  max_patches: 12,
};

test.each([
  // width, height → rows and columns by get_optimal_tiled_canvas of transformers, for 1 to 12 tiles of 448 pixels
  [1280, 800, [2, 3]],
  [1920, 1080, [2, 4]],
  [1080, 2400, [5, 2]],
  [160, 210, [4, 3]],
  [448, 448, [1, 1]],
  [640, 640, [2, 2]],
  [1000, 1000, [3, 3]],
  [1400, 1400, [3, 3]],
  [3000, 41, [1, 12]],
  [1, 1, [1, 1]],
])('cuts an image of %i×%i into %j tiles', (width, height, tiles) => {
  const count = tiles[0] * tiles[1];
  expect(imagesOf(published).geometryOf({ width, height })).toEqual(
    count === 1 ? { grid: [1, 32, 32] } : { grid: [count + 1, 32, 32], tiles },
  );
});

test('shows a screenshot stretched to whole tiles', () => {
  expect(imagesOf(published).shownSize({ width: 1280, height: 800 })).toEqual({ width: 1344, height: 896 });
});

test.each<[object, number, number, [number, number]]>([
  [{ ...published, max_patches: 1 }, 1280, 800, [1, 1]],
  [{ ...published, min_patches: 2 }, 448, 448, [2, 2]],
  [{ ...published, min_patches: 5, max_patches: 3 }, 1280, 800, [1, 1]],
  [{ ...published, max_patches: 4 }, 1280, 800, [1, 2]],
])('keeps to the limits of %j', (json, width, height, [rows, columns]) => {
  expect(imagesOf(json).shownSize({ width, height })).toEqual({ width: columns * 448, height: rows * 448 });
});

test('shows one part per tile, then the whole', () => {
  const images = imagesOf({
    size: { height: 14, width: 14 },
    image_mean: [0.5, 0.5, 0.5],
    image_std: [0.5, 0.5, 0.5],
  });
  const [width, height] = [28, 14];
  const data = new Uint8Array(width * height * 3).fill(255);
  for (let y = 0; y < height; y++) data.fill(0, y * width * 3, (y * width + 14) * 3);
  const patches = images.patchesOf({ data, width, height });
  const picture = (index: number): number[] => Array.from(patches.subarray(index * 588, (index + 1) * 588));
  expect(patches).toHaveLength(3 * 588);
  expect(new Set(picture(0))).toEqual(new Set([-1]));
  expect(new Set(picture(1))).toEqual(new Set([1]));
  expect([...picture(2).slice(0, 4), ...picture(2).slice(10, 14)]).toEqual([-1, -1, -1, -1, 1, 1, 1, 1]);
});

test.each([
  [{ size: { shortest_edge: 448 } }, /"size" is {"shortest_edge":448}; expected equal height and width/],
  [{ size: { height: 448, width: 224 } }, /expected equal height and width/],
  [{ size: { height: 8, width: 8 } }, /expected at least one patch, 14 pixels/],
  [{ max_patches: 0 }, /"max_patches" is 0; expected a positive number/],
  [{ min_patches: 1.5 }, /"min_patches" is 1\.5; expected a whole number of tiles/],
  [{ max_patches: 1_000_000 }, /"max_patches" is 1000000; expected a whole number of tiles, at most 256/],
  [{ do_rescale: false }, /"do_rescale": false is not supported/],
  [{ resample: 0 }, /"resample" is 0/],
])('refuses %j', (json, message) => {
  expect(() => imagesOf(json)).toThrow(message);
});
