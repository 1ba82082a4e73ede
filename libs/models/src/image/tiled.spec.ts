import type { ImageGeometry } from '../families/base';
import { parseTiledImages, TiledImages } from './tiled';

/** A model with 16-pixel patches, of which 4 × 4 form a token. */
const model = {
  shape: { modelType: 'idefics3', patchSize: 16 },
  imageTokens: ({ grid }: ImageGeometry) => (grid[0] * grid[1] * grid[2]) / 16,
};

function tiled(json: object): TiledImages {
  return new TiledImages(parseTiledImages(json as Record<string, unknown>, 'f', model));
}

const smolVlm = { size: { longest_edge: 2048 }, max_image_size: { longest_edge: 512 } };

test.each([
  // width, height → rows and columns of tiles, as in transformers with 512-pixel tiles and a longest edge of 2048
  [1080, 2400, [4, 2]],
  [1280, 800, [3, 4]],
  [500, 500, [4, 4]],
  [40, 3000, [4, 1]],
  [160, 224, [4, 3]],
  [3000, 41, [1, 4]],
  [1, 1, [4, 4]],
  [1365, 1024, [3, 4]],
])('an image of %i×%i is cut into tiles %j and an overview', (width, height, tiles) => {
  expect(tiled(smolVlm).geometryOf({ width, height })).toEqual({
    grid: [tiles[0] * tiles[1] + 1, 32, 32],
    tiles,
  });
});

test('an image that fits one tile, or must not be cut, is an overview alone', () => {
  const size = { width: 90, height: 50 };
  const one = { size: { longest_edge: 64 }, max_image_size: { longest_edge: 64 } };
  expect(tiled(one).geometryOf(size)).toEqual({ grid: [1, 4, 4] });
  expect(tiled({ ...smolVlm, do_image_splitting: false }).geometryOf(size)).toEqual({ grid: [1, 32, 32] });
});

test('tiles show their part, the overview the whole', () => {
  const processor = tiled({ size: { longest_edge: 32 }, max_image_size: { longest_edge: 16 } });
  const [width, height] = [32, 16];
  const data = new Uint8Array(width * height * 3).fill(255);
  for (let y = 0; y < height; y++) data.fill(0, y * width * 3, (y * width + 16) * 3);
  const image = { data, width, height };
  expect(processor.geometryOf(image)).toEqual({ grid: [3, 1, 1], tiles: [1, 2] });
  const patches = processor.patchesOf(image);
  const picture = (index: number): number[] => Array.from(patches.subarray(index * 768, (index + 1) * 768));
  expect(new Set(picture(0))).toEqual(new Set([-1]));
  expect(new Set(picture(1))).toEqual(new Set([1]));
  expect(picture(2).slice(0, 4)).toEqual([-1, -1, -1, -1]);
  expect(picture(2).slice(12, 16)).toEqual([1, 1, 1, 1]);
});

test.each([
  [{ do_image_splitting: 'yes' }, /"do_image_splitting" is "yes"; expected true or false/],
  [{ size: { longest_edge: -1 } }, /"size\.longest_edge" is -1; expected a positive number/],
  [{ do_resize: false }, /"do_resize": false is not supported/],
  [{ resample: 0 }, /"resample" is 0/],
])('%j is refused', (json, message) => {
  expect(() => tiled(json)).toThrow(message);
});
