import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { loadFamily, loadModelFolder } from './folder';
import { loadAdapter } from './lora/adapter';
import { WeightStore } from './weights/store';

const fixtures = join(__dirname, '../../../test/golden/fixtures');
type Json = Record<string, unknown>;

const names = readdirSync(fixtures);
/** Width of a text model. */
function widthOf(name: string): unknown {
  const config = JSON.parse(readFileSync(join(fixtures, name, 'model/config.json'), 'utf8')) as Json;
  return ((config.text_config ?? config) as Json).hidden_size;
}
/** A model of each family, with those of another width, whose adapters it cannot load. */
const families: [string, string[]][] = names
  .filter((name) => name.endsWith('-a'))
  .map((name) => [name, names.filter((other) => widthOf(other) !== widthOf(name))]);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-bad-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A copy of a model that tests damage, and the name of its first weight file. */
function copyOf(name: string): string {
  const model = join(fixtures, name, 'model');
  const files = readdirSync(model);
  for (const file of files) copyFileSync(join(model, file), join(dir, file));
  return files.filter((file) => file.endsWith('.safetensors')).toSorted()[0];
}

function edit(file: string, change: (json: Json) => void): void {
  const json = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Json;
  change(json);
  writeFileSync(join(dir, file), JSON.stringify(json));
}

/** Rewrites the header of a weight file and keeps its data. */
function editHeader(
  file: string,
  change: (header: Record<string, { dtype: string; shape: number[] }>) => void,
): void {
  const bytes = readFileSync(join(dir, file));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<
    string,
    { dtype: string; shape: number[] }
  >;
  change(header);
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(join(dir, file), Buffer.concat([size, text, bytes.subarray(8 + length)]));
}

function png(width: number, height: number): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#888' } })
    .png()
    .toBuffer();
}

describe.each(families)('%s refuses', (name, others) => {
  it('images that cannot be screenshots, with their size', async () => {
    const { imageProcessor } = await loadModelFolder(join(fixtures, name, 'model'));
    await expect(imageProcessor.process(await png(1, 1))).rejects.toThrow(/1×1 pixels; expected at least/);
    await expect(imageProcessor.process(await png(20_000, 10))).rejects.toThrow(
      /20000×10 pixels, an aspect ratio of 2000\.0; expected at most/,
    );
  });

  it('weights that end too early, with file and tensor', async () => {
    const file = copyOf(name);
    truncateSync(join(dir, file), readFileSync(join(dir, file)).length - 40);
    await expect(loadModelFolder(dir)).rejects.toThrow(
      new RegExp(`${file}: tensor "[^"]+".*(ends|beyond|bytes)`),
    );
  });

  it('weights of another shape, with file, tensor and both shapes', async () => {
    const file = copyOf(name);
    let tensor = '';
    editHeader(file, (header) => {
      const [found, entry] = Object.entries(header).find(
        ([, { shape }]) => shape?.length === 2 && shape[0] !== shape[1],
      )!;
      tensor = found;
      entry.shape = entry.shape.toReversed();
    });
    const expected = new RegExp(
      `${file}: tensor "[^"]+" has shape \\[\\d+, \\d+\\].* asks for \\[\\d+, \\d+\\]`,
    );
    await expect(loadModelFolder(dir)).rejects.toThrow(expected);
    expect(tensor).not.toBe('');
  });

  it('weights that are not floating-point numbers, with file, tensor and type', async () => {
    const file = copyOf(name);
    editHeader(file, (header) => {
      const entry = Object.values(header).find(({ shape }) => shape?.length === 2)!;
      entry.dtype = entry.dtype === 'F32' ? 'I32' : 'I16';
    });
    await expect(loadModelFolder(dir)).rejects.toThrow(
      new RegExp(`${file}: tensor "[^"]+" is I(32|16); expected F32, BF16 or F16`),
    );
  });

  it('a tokenizer without the image token', async () => {
    copyOf(name);
    const { shape } = await loadFamily(dir);
    edit('tokenizer.json', (json) => {
      const added = json.added_tokens as { id: number }[];
      json.added_tokens = added.filter(({ id }) => id !== shape.imageTokenId);
      const { vocab } = json.model as { vocab: Record<string, number> };
      for (const [text, id] of Object.entries(vocab)) if (id === shape.imageTokenId) delete vocab[text];
    });
    await expect(loadModelFolder(dir)).rejects.toThrow(
      new RegExp(`tokenizer\\.json: no token has the id ${shape.imageTokenId}, .*image token`),
    );
  });

  it('an adapter of another model, with file and tensor', async () => {
    const family = await loadFamily(join(fixtures, name, 'model'));
    for (const other of others) {
      const loaded = loadAdapter(join(fixtures, other, 'adapter'), family).then(() => `${other} fits`);
      await expect(loaded).rejects.toThrow(
        /adapter_(model\.safetensors|config\.json): .*("[^"]+"|target_parameters)/,
      );
    }
  });
});

describe('a model folder refuses', () => {
  it.each<[string, string, RegExp]>([
    ['config.json', 'null', /config\.json: holds null; expected a JSON object/],
    ['config.json', '[{}]', /config\.json: holds an array; expected a JSON object/],
    ['config.json', '{"a": ', /config\.json: is not JSON: /],
    ['tokenizer_config.json', '7', /tokenizer_config\.json: holds 7; expected a JSON object/],
    ['preprocessor_config.json', '"x"', /preprocessor_config\.json: holds x; expected a JSON object/],
  ])('%s with %s', async (file, text, error) => {
    copyOf('qwen3-vl-a');
    writeFileSync(join(dir, file), text);
    await expect(loadModelFolder(dir)).rejects.toThrow(error);
  });

  it.each([
    ['null', /index\.json: holds null; expected a JSON object/],
    ['{"weight_map": []}', /has no "weight_map" object/],
    ['{"weight_map": {"a": 1}}', /places "a" in 1; expected the name of a file in the same folder/],
    ['{"weight_map": {"a": "../a.safetensors"}}', /places "a" in "\.\.\/a\.safetensors"; expected the name/],
    [
      '{"weight_map": {"a": "/etc/a.safetensors"}}',
      /places "a" in "\/etc\/a\.safetensors"; expected the name/,
    ],
  ])('the index of weights %s', async (text, error) => {
    writeFileSync(join(dir, 'model.safetensors.index.json'), text);
    await expect(WeightStore.open(dir)).rejects.toThrow(error);
  });

  it.each([
    ['null', /adapter_config\.json: holds null; expected a JSON object/],
    ['{', /adapter_config\.json: is not JSON/],
  ])('the configuration of an adapter %s', async (text, error) => {
    writeFileSync(join(dir, 'adapter_config.json'), text);
    const family = await loadFamily(join(fixtures, 'qwen3-vl-a/model'));
    await expect(loadAdapter(dir, family)).rejects.toThrow(error);
  });
});
