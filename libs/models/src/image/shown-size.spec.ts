import type { ImageGeometry } from '../families/base';
import { ImageProcessor, parsePreparation } from '.';

/** A processor of a model with 14-pixel patches. */
function processorOf(modelType: string, json: Record<string, unknown>): ImageProcessor {
  const model = {
    shape: { modelType, patchSize: 14 },
    imageTokens: ({ grid }: ImageGeometry) => grid[0] * grid[1] * grid[2],
  };
  return new ImageProcessor(parsePreparation(json, 'test', model), model);
}

const tiles = { size: { longest_edge: 728 }, max_image_size: { longest_edge: 364 } };
const pinpoints = { size: { height: 336, width: 336 }, image_grid_pinpoints: [[672, 672]] };

test.each<[string, Record<string, unknown>, [number, number], [number, number]]>([
  // smart_resize of transformers: multiples of 28 within the pixel limits
  ['qwen2_vl', {}, [1280, 800], [1260, 784]],
  ['qwen2_vl', { max_pixels: 28 * 28 * 100 }, [1280, 800], [336, 196]],
  ['llava', { size: { height: 336, width: 336 }, do_center_crop: false }, [1280, 800], [336, 336]],
  ['llava', { size: { shortest_edge: 336 }, crop_size: 224 }, [1280, 800], [224, 224]],
  ['llava_onevision', pinpoints, [1280, 800], [672, 420]],
  ['idefics2', {}, [1280, 800], [980, 612]],
  ['idefics2', { do_image_splitting: true }, [1280, 800], [980, 612]],
  ['idefics3', tiles, [1280, 800], [728, 728]],
  ['idefics3', { ...tiles, do_image_splitting: false }, [1280, 800], [364, 364]],
])('a model of type %s (%j) sees a screenshot of %j as %j', (modelType, json, screenshot, shown) => {
  const [width, height] = screenshot;
  expect(processorOf(modelType, json).shownSize({ width, height })).toEqual({
    width: shown[0],
    height: shown[1],
  });
});

test('a size that is none is refused', () => {
  expect(() => processorOf('qwen2_vl', {}).shownSize({ width: 0, height: 10 })).toThrow(/0×10/);
});
