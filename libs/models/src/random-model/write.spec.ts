import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownConfig, knownModels } from '../catalogue';
import { definitionOf } from '../families/registry';
import { loadModelFolder } from '../folder';
import { initializeWeights } from '../initialize';
import { makeRenderer } from '../renderer';
import { Tokenizer } from '../tokenizer';
import { fromBfloat16, toBfloat16 } from '../weights/half';
import { writeRandomModel, type RandomModelOptions } from './write';

type Json = Record<string, unknown>;

const root = join(__dirname, '../../../..');
const shipped = join(root, 'deploy/local/model');
const fixture = join(root, 'test/golden/fixtures/qwen3-vl-b/model');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-random-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function readJson(file: string): Json {
  return JSON.parse(readFileSync(file, 'utf8')) as Json;
}

/** Width of a small model's hidden states, which one head reads; a known model's heads are four times as wide. */
const WIDTH = 32;

/** The largest token id in a config.json. */
function largestTokenId(config: Json): number {
  const text = (config.text_config ?? {}) as Json;
  const ids = Object.entries({ ...config, ...text }).filter(([key]) => /_token_(id|index)$/.test(key));
  return Math.max(...ids.flatMap(([, id]) => id as number | number[]));
}

/** A known model with small layers, which keeps its token ids and the part of the vocabulary that they need. */
function small(id: string): Json {
  const config = knownConfig(id)!;
  const vision = config.vision_config as Json;
  const text = (config.text_config as Json | undefined) ?? config;
  const heads = { num_attention_heads: 1, num_key_value_heads: 1, head_dim: WIDTH, num_hidden_layers: 2 };
  Object.assign(text, heads, { hidden_size: WIDTH, intermediate_size: 64 });
  const rope = text.rope_scaling as { mrope_section?: number[] } | undefined;
  if (rope?.mrope_section !== undefined) rope.mrope_section = rope.mrope_section.map((pairs) => pairs / 4);
  if ('linear_num_key_heads' in text) shrinkLinearAttention(text);
  text.vocab_size = Math.min((text.vocab_size as number | undefined) ?? Infinity, largestTokenId(config) + 8);
  if ('shared_expert_intermediate_size' in text) text.shared_expert_intermediate_size = 16;
  if ('num_experts' in text)
    Object.assign(text, { num_experts: 4, num_experts_per_tok: 2, moe_intermediate_size: 48 });
  if (id.startsWith('Qwen/')) shrinkQwenTower(vision);
  else {
    const layers = { num_attention_heads: 2, num_hidden_layers: 2 };
    Object.assign(vision, layers, { hidden_size: 32, intermediate_size: 64 });
  }
  return config;
}

/** One layer of each kind; 8 numbers of a head are rotated. */
function shrinkLinearAttention(text: Json): void {
  const sizes = { linear_num_key_heads: 1, linear_num_value_heads: 2, linear_key_head_dim: 8 };
  Object.assign(text, sizes, {
    linear_value_head_dim: 8,
    layer_types: ['linear_attention', 'full_attention'],
  });
  (text.rope_parameters as Json).mrope_section = [2, 1, 1];
}

function shrinkQwenTower(vision: Json): void {
  Object.assign(vision, { depth: 2, num_heads: 2 });
  if ('embed_dim' in vision) Object.assign(vision, { embed_dim: 32, hidden_size: WIDTH });
  else Object.assign(vision, { hidden_size: 32, intermediate_size: 64, out_hidden_size: WIDTH });
  if ((vision.deepstack_visual_indexes as number[] | undefined)?.length)
    vision.deepstack_visual_indexes = [0];
  if ('fullatt_block_indexes' in vision) vision.fullatt_block_indexes = [1];
}

function write(options: Partial<RandomModelOptions> = {}) {
  return writeRandomModel({
    out: join(dir, 'out'),
    config: readJson(join(fixture, 'config.json')),
    source: 'config.json',
    tokenizerFrom: shipped,
    filesFrom: fixture,
    seed: 3,
    dtype: 'F32',
    maxShardBytes: 1e9,
    ...options,
  });
}

/** For comparisons: comparing value by value is slow. */
function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

test('the weights are those of initializeWeights, in as many files as asked for', async () => {
  const { weightFiles, parameters, weightBytes, family } = await write({ maxShardBytes: 100_000 });
  expect(weightFiles.length).toBeGreaterThan(3);
  expect(weightFiles.at(-1)).toBe('model.safetensors.index.json');
  const { weights } = await loadModelFolder(join(dir, 'out'));
  const expected = initializeWeights(family, 3);
  for (const [name, { shape, data }] of expected) {
    expect(bytesOf(await weights.read(name, shape)).equals(bytesOf(data))).toBe(true);
  }
  expect(parameters).toBe([...expected.values()].reduce((sum, { data }) => sum + data.length, 0));
  expect(weightBytes).toBe(4 * parameters);
  const index = readJson(join(dir, 'out/model.safetensors.index.json'));
  expect(index.metadata).toEqual({ total_size: weightBytes });
  for (const name of weightFiles.slice(0, -1)) {
    const tensors = Object.values(index.weight_map as Json).filter((file) => file === name).length;
    expect(tensors === 1 || statSync(join(dir, 'out', name)).size < 110_000).toBe(true);
  }
});

test('weights larger than a piece are the same, and half as large as bf16', async () => {
  const config = small('Qwen/Qwen3-VL-2B-Instruct');
  const { family, weightFiles } = await write({ config, filesFrom: undefined, dtype: 'BF16' });
  expect(weightFiles).toEqual(['model.safetensors']);
  const { weights, config: written } = await loadModelFolder(join(dir, 'out'), { weights: 'bf16' });
  const name = 'model.language_model.embed_tokens.weight';
  expect(weights.entry(name).dtype).toBe('BF16');
  expect(written.dtype).toBe('bfloat16');
  const { data } = initializeWeights(family, 3).get(name)!;
  expect(bytesOf(await weights.read(name)).equals(bytesOf(fromBfloat16(toBfloat16(data))))).toBe(true);
});

/** The first of each set of models that are equal when shrunk. */
function distinctModels(): string[] {
  return [
    ...new Map(
      knownModels()
        .toReversed()
        .map((id) => [JSON.stringify(small(id)), id]),
    ).values(),
  ].toReversed();
}

test.each(distinctModels())(
  'without a tokenizer to copy, %s gets one whose ids fit its configuration',
  async (id) => {
    const config = small(id);
    const { family } = await write({ config, filesFrom: undefined });
    const folder = await loadModelFolder(join(dir, 'out'));
    const { tokenizer } = folder;
    const { vocabSize, imageTokenId } = family.shape;
    expect(tokenizer.vocabSize).toBe(vocabSize);
    const { conventions } = definitionOf(family.shape.modelType)!;
    expect(conventions.image).toContain(family.templateImage ?? tokenizer.tokenOf(imageTokenId));
    const said = 'Tap "Wi-Fi" – ünïcode 🙂 123';
    expect(tokenizer.decode(tokenizer.encode(said))).toBe(said);
    const prompt = await makeRenderer(folder).renderPngs(
      [{ role: 'user', content: [{ type: 'image' }, { type: 'text', text: said }] }],
      [readFileSync(join(fixture, '../images/0.png'))],
    );
    expect(prompt.imageTokens).toBeGreaterThan(0);
  },
);

test('special tokens have the ids of the configuration, every id can be decoded, and no text becomes a filler', async () => {
  await write({ config: small('Qwen/Qwen2-VL-2B-Instruct'), filesFrom: undefined });
  const tokenizer = await Tokenizer.load(join(dir, 'out'));
  expect(tokenizer.idOf('<|image_pad|>')).toBe(151_655);
  expect(tokenizer.idOf('<|vision_start|>')).toBe(151_652);
  expect(tokenizer.eosTokenIds).toEqual([151_645, 151_643]);
  for (let id = 0; id < tokenizer.vocabSize; id += 1) {
    if (tokenizer.tokenOf(id) === undefined) throw new Error(`nothing stands for ${id}`);
  }
  expect(tokenizer.decode([100_000])).toBe('<|unused_100000|>');
  expect(tokenizer.encode('<|unused_100000|>')).not.toContain(100_000);
});

test('special tokens are in the vocabulary, without which other readers number them behind it', async () => {
  await write({ config: small('OpenGVLab/InternVL3-1B-hf'), filesFrom: undefined });
  const { added_tokens: added, model } = readJson(join(dir, 'out/tokenizer.json')) as unknown as {
    added_tokens: { id: number; content: string }[];
    model: { vocab: Record<string, number> };
  };
  expect(added.map(({ content }) => content)).toContain('<IMG_CONTEXT>');
  for (const { id, content } of added) expect([content, model.vocab[content]]).toEqual([content, id]);
});

test('tokenizer, template and processor are copied from where they are, and nothing else', async () => {
  writeFileSync(join(dir, 'README.md'), 'x');
  await write();
  const copied = readdirSync(join(dir, 'out')).toSorted();
  const companions = readdirSync(fixture).filter((name) => !name.startsWith('model'));
  expect(copied).toEqual([...companions, 'model.safetensors'].toSorted());
  for (const name of companions.filter((each) => each !== 'config.json')) {
    expect(readFileSync(join(dir, 'out', name))).toEqual(readFileSync(join(fixture, name)));
  }
});

test('a folder that holds something is refused and left alone', async () => {
  await write({ out: join(dir, 'first') });
  const before = readdirSync(join(dir, 'first'));
  await expect(write({ out: join(dir, 'first') })).rejects.toThrow(/first holds \d+ files already/);
  expect(readdirSync(join(dir, 'first'))).toEqual(before);
});

test('removes its files when it is ended in the middle', async () => {
  const controller = new AbortController();
  const onBytes = (written: number, total: number): void => {
    expect(written).toBeLessThan(total);
    controller.abort();
  };
  const config = small('Qwen/Qwen2-VL-2B-Instruct');
  await expect(write({ config, onBytes, signal: controller.signal })).rejects.toThrow(/abort/);
  expect(readdirSync(join(dir, 'out'))).toEqual([]);
});

test('says that the vocabulary is too small for a tokenizer', async () => {
  const config = readJson(join(fixture, 'config.json'));
  (config.text_config as Json).vocab_size = 200;
  const failed = write({ config, filesFrom: undefined });
  await expect(failed).rejects.toThrow(/vocab_size is 200; expected at least 26\d: one token per byte/);
});
