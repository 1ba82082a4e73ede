import { ClipImages } from '../../image/clip';
import type { ImageGeometry } from '../base';
import { gemma3Processor } from './images';

const model = {
  shape: { modelType: 'gemma3', patchSize: 14 },
  imageTokens: ({ grid }: ImageGeometry) => (grid[1] * grid[2]) / 16,
};

const imagesOf = (json: object): ClipImages =>
  gemma3Processor.parse(json as Record<string, unknown>, 'preprocessor_config.json', model) as ClipImages;

/** From the folder of google/gemma-3-4b-it. */
const published = {
  do_convert_rgb: null,
  do_normalize: true,
  do_pan_and_scan: null,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.5, 0.5, 0.5],
  image_processor_type: 'Gemma3ImageProcessor',
  image_seq_length: 256,
  image_std: [0.5, 0.5, 0.5],
  pan_and_scan_max_num_crops: null,
  pan_and_scan_min_crop_size: null,
  pan_and_scan_min_ratio_to_activate: null,
  processor_class: 'Gemma3Processor',
  resample: 2,
  rescale_factor: 0.00392156862745098,
  size: { height: 896, width: 896 },
};

test.each([
  [1280, 800],
  [1, 1],
  [1080, 2400],
  [896, 896],
])('an image of %i×%i becomes one square of 896 pixels', (width, height) => {
  const images = imagesOf(published);
  expect(images.shownSize({ width, height })).toEqual({ width: 896, height: 896 });
  expect(images.geometryOf({ width, height })).toEqual({ grid: [1, 64, 64] });
});

test('has the defaults of Gemma3ImageProcessor', () => {
  expect(imagesOf({}).config).toEqual({
    patchSize: 14,
    size: { height: 224, width: 224 },
    crop: null,
    padsToSquare: false,
    resample: 2,
    rescaleFactor: 1 / 255,
    mean: [0.5, 0.5, 0.5],
    std: [0.5, 0.5, 0.5],
  });
});

/** Every second row and column of `levels` is white. */
function checked(width: number, height: number) {
  const data = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)];
    data.set([x % 2 === 0 ? 255 : 0, y % 2 === 0 ? 255 : 0, (40 * x + 90 * y) % 256], 3 * i);
  }
  return { data, width, height };
}

/** Values of Gemma3ImageProcessorPil of transformers 5.24 for `checked(5, 3)` and these options. */
test('resizes as the reference does, with the bilinear filter', () => {
  const images = imagesOf({ ...published, size: { height: 14, width: 14 } });
  const patches = images.patchesOf(checked(5, 3));
  expect(patches).toHaveLength(3 * 196);
  const found = [0, 1, 2, 3, 20, 100, 195, 196, 230, 391, 392, 430, 500, 587].map((i) => patches[i]);
  expect(found.map((value) => Math.round(1e6 * value) / 1e6)).toEqual([
    1, 0.929412, 0.215686, -0.498039, 0.639216, 0.215686, 1, 1, 0.929412, 1, -1, 0.043137, 0.584314,
    -0.341176,
  ]);
});

test.each([
  [{ do_pan_and_scan: true }, /"do_pan_and_scan" is true; .*pan and scan is not supported.*false/],
  [{ do_pan_and_scan: 'yes' }, /"do_pan_and_scan" is "yes"; expected true or false/],
  [{ size: { shortest_edge: 896 } }, /"size" is {"shortest_edge":896}; expected equal height and width/],
  [{ size: { height: 896, width: 448 } }, /expected equal height and width/],
  [{ size: { height: 896 } }, /"size\.width" is undefined; expected a positive number/],
  [{ do_resize: false }, /"do_resize": false is not supported/],
  [{ resample: 0 }, /"resample" is 0; only/],
  [{ image_mean: [0.5] }, /"image_mean" is \[0\.5\]; expected three numbers/],
])('refuses %j', (json, message) => {
  expect(() => imagesOf({ ...published, ...json })).toThrow(message);
});
