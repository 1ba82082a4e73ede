import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import {
  decodeFloats,
  readSafetensorsHeader,
  readTensorBytes,
  type TensorEntry,
} from '../weights/safetensors';
import type { ImageGeometry } from '../families/base';
import { loadFamily } from '../folder';
import {
  asShownTogether,
  ImageProcessor,
  loadImageProcessor,
  parsePreparation,
  parseQwenVlImages,
  QwenVlImages,
  smartResize,
  type MeasuredImage,
  type ProcessedImage,
} from '.';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');

interface Expected {
  images: (ImageGeometry & { file: string; height: number; width: number })[];
}

async function referencePatches(file: string): Promise<Float32Array> {
  const entry = (await readSafetensorsHeader(file)).entries.get('pixel_values') as TensorEntry;
  return decodeFloats(entry, await readTensorBytes(entry));
}

function blank(width: number, height: number, background = 'teal'): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}

/** The few properties of a model that image processing needs. */
const model = {
  shape: { modelType: 'qwen2_vl', patchSize: 16 },
  imageTokens: ({ grid }: ImageGeometry) => (grid[1] * grid[2]) / 4,
};

/** In the reference's layout: each channel's picture once per frame (two for Qwen). */
function repeated(patches: Float32Array, area: number, frames: number): number[] {
  const numbers: number[] = [];
  for (let at = 0; at < patches.length; at += area) {
    for (let frame = 0; frame < frames; frame++) numbers.push(...patches.subarray(at, at + area));
  }
  return numbers;
}

describe.each(readdirSync(fixtures))('images of %s', (name) => {
  const folder = join(fixtures, name);
  const { images } = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected;

  test('become the reference patches exactly, resized (as Pillow resizes) or not', async () => {
    const family = await loadFamily(join(folder, 'model'));
    const processor = await loadImageProcessor(join(folder, 'model'), family);
    const expected = await referencePatches(join(folder, 'expected.safetensors'));
    const processed = asShownTogether(
      await Promise.all(images.map(({ file }) => processor.process(readFileSync(join(folder, file))))),
    );
    const geometryOf = ({ grid, tiles, shown, pictures }: ImageGeometry) => ({
      grid,
      tiles,
      shown,
      pictures,
    });
    expect(processed.map(geometryOf)).toEqual(images.map(geometryOf));
    expect(processed.map(({ width, height }) => [width, height])).toEqual(
      images.map((i) => [i.width, i.height]),
    );
    const found = processed.reduce((sum, { patches }) => sum + patches.length, 0);
    const frames = expected.length / found;
    const patches = processed.flatMap(({ patches }) =>
      repeated(patches, family.shape.patchSize ** 2, frames),
    );
    expect(patches.length).toBe(expected.length);
    expect(patches.findIndex((value, index) => value !== expected[index])).toBe(-1);
  });

  test('are measured without being processed, with the same result', async () => {
    const family = await loadFamily(join(folder, 'model'));
    const processor = await loadImageProcessor(join(folder, 'model'), family);
    const withoutPatches = ({
      patches: _patches,
      amongOthers,
      ...measured
    }: ProcessedImage): MeasuredImage => ({
      ...measured,
      ...(amongOthers === undefined ? {} : { amongOthers: withoutPatches(amongOthers) }),
    });
    for (const { file } of images) {
      const png = readFileSync(join(folder, file));
      expect(await processor.measure(png)).toEqual(withoutPatches(await processor.process(png)));
    }
  });
});

describe('the image processor', () => {
  const config = parseQwenVlImages(
    { patch_size: 16, size: { shortest_edge: 1024, longest_edge: 2 ** 20 } },
    'test',
  );
  const processor = new ImageProcessor(new QwenVlImages(config), model);

  test('keeps a phone screenshot as it is: 5 × 7 tokens', async () => {
    const image = await processor.process(await blank(160, 224));
    expect(image).toMatchObject({ grid: [1, 14, 10], tokens: 35, width: 160, height: 224 });
    expect(image.patches.length).toBe(140 * 3 * 256);
    expect(processor.tokensOf({ width: 160, height: 224 })).toBe(35);
  });

  test('processes the same bytes once', async () => {
    const png = await blank(64, 32);
    const [first, second] = await Promise.all([
      processor.process(png),
      processor.process(Uint8Array.from(png)),
    ]);
    expect(second).toBe(first);
    expect(await processor.process(png)).toBe(first);
    expect(first.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test('forgets the least recently used image when memory is spent', async () => {
    const bytes = 2 * 4 * 3 * 256 * 4;
    const small = new ImageProcessor(new QwenVlImages(config), model, { cacheBytes: 2 * bytes });
    const pngs = await Promise.all(
      ['red', 'green', 'blue'].map((background) =>
        sharp({ create: { width: 64, height: 32, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const red = await small.process(pngs[0]);
    const green = await small.process(pngs[1]);
    expect(await small.process(pngs[0])).toBe(red);
    await small.process(pngs[2]);
    expect(await small.process(pngs[0])).toBe(red);
    expect(await small.process(pngs[1])).not.toBe(green);
  });

  test('has the bytes of images that it forgot, and of one that its memory cannot hold', async () => {
    const tiny = new ImageProcessor(new QwenVlImages(config), model, { cacheBytes: 1 });
    const png = await blank(64, 32);
    const { sha256 } = await tiny.process(png);
    expect(tiny.known(sha256)).toBeUndefined();
    expect(tiny.bytesOf(sha256)).toEqual(png);
    await expect(tiny.process(Buffer.from('text'))).rejects.toThrow(/4 bytes cannot be decoded/);
    expect(tiny.bytesOf(createHash('sha256').update('text').digest('hex'))).toBeUndefined();
  });

  test('takes grey, transparent and 16-bit images', async () => {
    const grey = await sharp(await blank(64, 32))
      .greyscale()
      .png()
      .toBuffer();
    const clear = await sharp({
      create: { width: 64, height: 32, channels: 4, background: { r: 255, g: 0, b: 0, alpha: 0 } },
    })
      .png()
      .toBuffer();
    const deep = await sharp(await blank(64, 32))
      .toColourspace('rgb16')
      .png()
      .toBuffer();
    const [, white, sixteen] = await Promise.all([grey, clear, deep].map((png) => processor.process(png)));
    // As in the image processors of transformers: blended with white instead of the colour below the transparency.
    const opaque = await processor.process(await blank(64, 32, 'white'));
    expect(Array.from(white.patches)).toEqual(Array.from(opaque.patches));
    expect(Array.from(sixteen.patches.subarray(0, 8))).toEqual(
      Array.from((await processor.process(await blank(64, 32))).patches.subarray(0, 8)),
    );
  });

  test('takes a turned photo as it is looked at, measured or processed', async () => {
    const photo = await sharp(await blank(64, 32))
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const upright = { width: 32, height: 64, grid: [1, 4, 2] };
    expect(await processor.measure(photo)).toMatchObject(upright);
    expect(await processor.process(photo)).toMatchObject(upright);
  });

  test('refuses what cannot be a screenshot, naming what it found', async () => {
    await expect(processor.process(await blank(1, 1))).rejects.toThrow(/1×1 pixels; expected at least 2×2/);
    await expect(processor.process(await blank(20_000, 10))).rejects.toThrow(
      /20000×10.*aspect ratio of 2000\.0.*at most 200/,
    );
    await expect(processor.process(Buffer.from('no image'))).rejects.toThrow(/8 bytes cannot be decoded/);
    await expect(processor.measure(Buffer.from('no image'))).rejects.toThrow(/8 bytes cannot be decoded/);
    await expect(processor.measure(await blank(1, 1))).rejects.toThrow(/1×1 pixels; expected at least 2×2/);
    const png = await blank(64, 32);
    await expect(processor.process(png.subarray(0, png.length - 30))).rejects.toThrow(/cannot be decoded/);
  });
});

test.each([
  // width, height, factor, min, max → width, height: values of transformers' smart_resize
  [160, 224, 32, 1024, 1048576, 160, 224],
  [1280, 800, 32, 65536, 16777216, 1280, 800],
  [1080, 2400, 32, 65536, 1048576, 672, 1504],
  [48, 80, 32, 1024, 1048576, 64, 64],
  [20, 31, 28, 3136, 9408, 56, 84],
  [2, 400, 32, 1024, 1048576, 32, 480],
])(
  'smartResize of %i×%i (factor %i, %i…%i pixels) is %i×%i',
  (width, height, factor, minPixels, maxPixels, w, h) => {
    expect(smartResize({ width, height }, { factor, minPixels, maxPixels })).toEqual({ width: w, height: h });
  },
);

describe('the configuration of the image processor', () => {
  test('min_pixels and max_pixels go before size', () => {
    const config = parseQwenVlImages(
      { min_pixels: 10, max_pixels: 20, size: { shortest_edge: 1, longest_edge: 2 } },
      'x',
    );
    expect(config).toMatchObject({ minPixels: 10, maxPixels: 20, patchSize: 14, mergeSize: 2 });
  });

  test.each([
    [{ image_processor_type: 'ViTImageProcessor' }, /"ViTImageProcessor" is not supported/],
    [{ do_resize: false }, /"do_resize": false is not supported/],
    [{ resample: 2 }, /"resample" is 2; only 3/],
    [{ patch_size: 0 }, /"patch_size" is 0; expected a positive number/],
    [{ image_mean: [1] }, /"image_mean" is \[1\]; expected three numbers/],
    [{ min_pixels: 20, max_pixels: 10 }, /smallest image \(20 pixels\) is larger/],
  ])('%j is refused', (json, message) => {
    expect(() => parsePreparation(json, 'preprocessor_config.json', model)).toThrow(message);
  });

  test('a folder without one is refused', async () => {
    await expect(loadImageProcessor(fixtures, model)).rejects.toThrow(/has no preprocessor_config\.json/);
  });
});
