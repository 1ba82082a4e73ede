import sharp from 'sharp';
import type { ImageGeometry } from '../families/base';
import { asShownTogether, ImageProcessor, parsePreparation } from '.';

const model = {
  shape: { modelType: 'llava_onevision', patchSize: 2 },
  imageTokens: ({ grid }: ImageGeometry) => grid[0] * grid[1] * grid[2],
};
const plain = { image_mean: [0, 0, 0], image_std: [1, 1, 1], rescale_factor: 1 };

function processor(json: object): ImageProcessor {
  return new ImageProcessor(parsePreparation({ ...plain, ...json }, 'f', model), model);
}

/** A picture with one level per channel. */
function blank(width: number, height: number, level = 200): Promise<Buffer> {
  const background = { r: level, g: level, b: level };
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}

describe('images cropped to the middle', () => {
  const clip = { image_processor_type: 'CLIPImageProcessor', size: { shortest_edge: 4 } };

  test('have the shorter edge as configured, and one picture', async () => {
    const image = await processor({ ...clip, crop_size: { height: 4, width: 4 } }).process(
      await blank(9, 40),
    );
    expect(image).toMatchObject({ grid: [1, 2, 2], tokens: 4 });
    expect(new Set(image.patches)).toEqual(new Set([200]));
  });

  test('are refused if they are not screenshots', async () => {
    const narrow = processor({ ...clip, crop_size: 4 });
    await expect(narrow.process(await blank(1, 8))).rejects.toThrow(/1×8 pixels; expected at least 2×2/);
    await expect(narrow.process(await blank(2, 500))).rejects.toThrow(/aspect ratio of 250\.0/);
  });

  test('have a black margin where they are too small', async () => {
    const image = await processor({ ...clip, crop_size: 8 }).process(await blank(4, 4));
    expect(image.grid).toEqual([1, 4, 4]);
    const shown = Array.from({ length: 16 }, (_, patch) => image.patches[patch * 12]);
    expect(shown.flatMap((level, patch) => (level === 200 ? [patch] : []))).toEqual([5, 6, 9, 10]);
  });

  test('may be made square by the mean colour first', async () => {
    const padded = processor({
      image_processor_type: 'LlavaImageProcessor',
      ...{
        size: { shortest_edge: 4 },
        crop_size: { height: 4, width: 4 },
        do_pad: true,
        rescale_factor: 1 / 255,
      },
      image_mean: [0.5, 0.5, 0.5],
    });
    const { patches } = await padded.process(await blank(2, 4, 255));
    const levels = Array.from({ length: 4 }, (_, patch) => patches[patch * 12]);
    expect(Math.max(...levels)).toBeLessThanOrEqual(0.5);
    expect(Math.abs(levels[0])).toBeLessThan(0.01);
  });
});

describe('images in tiles', () => {
  const tiled = {
    image_processor_type: 'LlavaOnevisionImageProcessor',
    size: { height: 4, width: 4 },
    image_grid_pinpoints: [
      [4, 4],
      [4, 8],
      [8, 4],
    ],
  };

  test('fit into the tiling that keeps most of them', async () => {
    const wide = await processor(tiled).process(await blank(16, 4));
    expect(wide).toMatchObject({ grid: [3, 2, 2], tiles: [1, 2], shown: [2, 4] });
    const tall = await processor(tiled).process(await blank(4, 8));
    expect(tall).toMatchObject({ tiles: [2, 1], shown: [4, 2] });
  });

  test('are one picture each in a prompt of several, under separate keys', async () => {
    const images = processor(tiled);
    const [first, second] = await Promise.all([
      images.process(await blank(16, 4)),
      images.process(await blank(4, 4)),
    ]);
    expect(asShownTogether([first])).toEqual([first]);
    const together = asShownTogether([first, second]);
    expect(together.map(({ grid }) => grid)).toEqual([
      [1, 2, 2],
      [1, 2, 2],
    ]);
    expect(together[0].sha256).toBe(first.sha256);
    expect(together[0].key).toBe(images.keyOf(first.sha256, 2));
    expect(first.key).toBe(images.keyOf(first.sha256, 1));
    expect(first.key).not.toBe(together[0].key);
  });

  test.each([
    [{ ...tiled, image_grid_pinpoints: [[4, 6]] }, /"image_grid_pinpoints".*multiples of 4/],
    [{ ...tiled, do_center_crop: true }, /"do_center_crop" is true; expected false/],
    [{ ...tiled, size: { height: 4, width: 8 } }, /"size".*expected a square/],
    [{ ...tiled, do_resize: false }, /"do_resize": false is not supported/],
  ])('%j is refused', (json, message) => {
    expect(() => processor(json)).toThrow(message);
  });
});
