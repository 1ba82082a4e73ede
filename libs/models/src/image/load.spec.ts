import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { loadFamily } from '../folder';
import { loadImageProcessor, type ProcessedImage } from '.';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');

type Json = Record<string, unknown>;

let dir: string;
let screenshot: Buffer;
beforeAll(async () => {
  screenshot = await sharp({ create: { width: 640, height: 480, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-processor-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A copy of a model; returns its image processor's options. */
function copyOf(name: string): Json {
  cpSync(join(fixtures, name, 'model'), dir, { recursive: true });
  return JSON.parse(readFileSync(join(dir, 'preprocessor_config.json'), 'utf8')) as Json;
}

const write = (file: string, json: unknown): void => writeFileSync(join(dir, file), JSON.stringify(json));

async function processed(): Promise<ProcessedImage> {
  const processor = await loadImageProcessor(dir, await loadFamily(dir));
  return processor.process(screenshot);
}

describe.each(readdirSync(fixtures).filter((name) => name.endsWith('-a')))('%s', (name) => {
  test('prepares images by processor_config.json, where that has an image processor', async () => {
    const own = copyOf(name);
    const nested = { ...own, image_mean: [0.25, 0.5, 0.75], image_std: [0.5, 0.25, 0.125] };
    write('processor_config.json', { processor_class: own.processor_class, image_processor: nested });
    const both = await processed();
    unlinkSync(join(dir, 'preprocessor_config.json'));
    const alone = await processed();
    unlinkSync(join(dir, 'processor_config.json'));
    write('preprocessor_config.json', nested);
    const asOwn = await processed();
    write('preprocessor_config.json', own);
    expect(Buffer.compare(bytesOf(both), bytesOf(asOwn))).toBe(0);
    expect(Buffer.compare(bytesOf(alone), bytesOf(asOwn))).toBe(0);
    expect(Buffer.compare(bytesOf(both), bytesOf(await processed()))).not.toBe(0);
  });

  test.each([{}, { image_processor: null }, { size: { shortest_edge: 8 }, image_mean: [0, 0, 0] }])(
    'prepares images by preprocessor_config.json where processor_config.json says %j',
    async (shared) => {
      copyOf(name);
      const before = await processed();
      write('processor_config.json', shared);
      expect(Buffer.compare(bytesOf(await processed()), bytesOf(before))).toBe(0);
    },
  );
});

const bytesOf = ({ patches }: ProcessedImage): Buffer => Buffer.from(Float32Array.from(patches).buffer);

test('the grid of an image is that of the nested image processor', async () => {
  const own = copyOf('qwen3-vl-a');
  const size = { shortest_edge: 256, longest_edge: 1280 };
  write('processor_config.json', { image_processor: { ...own, patch_size: 8, merge_size: 2, size } });
  expect(await processed()).toMatchObject({ tokens: 2, grid: [1, 2, 4] });
});

test('an image is split as the nested image processor says', async () => {
  const own = copyOf('idefics3-a');
  expect((await processed()).tokens).toBe(40);
  write('processor_config.json', { image_processor: { ...own, do_image_splitting: false } });
  expect((await processed()).tokens).toBe(4);
});

test('missing fields of the nested image processor have its defaults, not the values of the other file', async () => {
  const { image_mean: _, ...rest } = copyOf('idefics2-a');
  write('preprocessor_config.json', { ...rest, image_mean: [0.1, 0.1, 0.1] });
  write('processor_config.json', { image_processor: rest });
  const nested = await processed();
  unlinkSync(join(dir, 'processor_config.json'));
  write('preprocessor_config.json', rest);
  expect(Buffer.compare(bytesOf(nested), bytesOf(await processed()))).toBe(0);
});

test.each([
  ['do_rescale', false],
  ['do_normalize', false],
])('a step that is switched off in the nested image processor is refused: %s', async (step, value) => {
  write('processor_config.json', { image_processor: { ...copyOf('qwen3-vl-a'), [step]: value } });
  await expect(processed()).rejects.toThrow(`processor_config.json: "${step}": false is not supported`);
});

test('an image processor that is not an object is refused', async () => {
  copyOf('qwen3-vl-a');
  write('processor_config.json', { image_processor: 'Qwen2VLImageProcessor' });
  await expect(processed()).rejects.toThrow(/processor_config\.json: "image_processor" is "Qwen2VL/);
});
