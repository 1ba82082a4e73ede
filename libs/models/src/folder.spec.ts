import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadFamily, loadModelFolder, saveModelFolder } from './folder';
import { initializeWeights } from './initialize';
import type { FloatTensor } from './weights/safetensors';
import { WeightStore } from './weights/store';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-b/model');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-folder-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function change(file: string, edit: (json: Record<string, unknown>) => void): void {
  const json = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Record<string, unknown>;
  edit(json);
  writeFileSync(join(dir, file), JSON.stringify(json));
}

test('opens a folder with sharded bf16 weights', async () => {
  const folder = await loadModelFolder(fixture);
  expect(folder.family.name).toBe('qwen3-vl');
  expect(folder.family.shape).toMatchObject({
    layers: 4,
    kvHeads: 1,
    headDim: 24,
    modelType: 'qwen3_vl',
  });
  expect(folder.family.features).toHaveLength(4);
  expect(folder.tokenizer.decode(folder.tokenizer.encode('hello'))).toBe('hello');
  expect(folder.weights.constant('model.visual.merger.linear_fc1.bias')).toHaveProperty('data');
});

test.each([
  ['config.json', /config\.json: cannot be read/],
  ['tokenizer.json', /tokenizer\.json/],
  ['preprocessor_config.json', /preprocessor_config\.json/],
  ['chat_template.jinja', /chat.template/],
  ['model-00002-of-00004.safetensors', /model-00002-of-00004\.safetensors: cannot be opened/],
])('says that %s is missing', async (file, message) => {
  cpSync(fixture, dir, { recursive: true });
  unlinkSync(join(dir, file));
  await expect(loadModelFolder(dir)).rejects.toThrow(message);
});

test('says that a weight has another shape than the configuration asks for', async () => {
  cpSync(fixture, dir, { recursive: true });
  change(
    'config.json',
    (json) => ((json.text_config as { intermediate_size: number }).intermediate_size = 80),
  );
  const message =
    /safetensors: tensor ".*gate_proj\.weight" has shape \[72, 48\], config\.json asks for \[80, 48\]/;
  await expect(loadModelFolder(dir)).rejects.toThrow(message);
});

test('says that there is no such folder', async () => {
  await expect(loadModelFolder(join(dir, 'none'))).rejects.toThrow(/none: no such model folder/);
});

test('weights are saved under the names that checkpoints of the family have', async () => {
  const original = join(__dirname, '../../../test/golden/fixtures/qwen2-vl-a/model');
  const family = await loadFamily(original);
  const store = await WeightStore.open(original, family.checkpointName);
  const tensors = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters())
    tensors.set(name, { shape, data: await store.read(name) });
  await saveModelFolder(join(dir, 'saved'), { tensors, filesFrom: original });
  const saved = await WeightStore.open(join(dir, 'saved'));
  expect(saved.names().toSorted()).toEqual(store.names().toSorted());
  await expect(loadModelFolder(join(dir, 'saved'))).resolves.toMatchObject({ family: { name: 'qwen2-vl' } });
});

test('experts are saved as the published models store them, from any folder', async () => {
  for (const name of ['qwen3-vl-moe-a', 'qwen3-vl-moe-b']) {
    const original = join(__dirname, '../../../test/golden/fixtures', name, 'model');
    const { family, weights } = await loadModelFolder(original);
    const tensors = new Map<string, FloatTensor>();
    for (const { name: weight, shape } of family.parameters())
      tensors.set(weight, { shape, data: await weights.read(weight, shape) });
    const to = join(dir, name);
    await saveModelFolder(to, { tensors, filesFrom: original });
    const saved = (await loadModelFolder(to)).weights;
    for (const { name: weight, shape, storedTransposed } of family.parameters()) {
      const stored = storedTransposed === true ? [shape[0], shape[2], shape[1]] : shape;
      expect([weight, saved.entry(weight).shape]).toEqual([weight, stored]);
      expect(await saved.read(weight, shape)).toEqual(tensors.get(weight)!.data);
    }
  }
});

test('full weights are saved as a folder that opens again', async () => {
  const tensors = initializeWeights(await loadFamily(fixture), 5);
  await saveModelFolder(join(dir, 'saved'), { tensors, filesFrom: fixture });
  const files = readdirSync(join(dir, 'saved'));
  expect(files).toEqual(
    expect.arrayContaining(['config.json', 'model.safetensors', 'tokenizer.json', 'chat_template.jinja']),
  );
  expect(files.filter((name) => name.includes('-of-') || name.includes('index'))).toEqual([]);
  const { weights, config } = await loadModelFolder(join(dir, 'saved'));
  expect(config.dtype).toBe('float32');
  for (const [name, { shape, data }] of tensors) expect(await weights.read(name, shape)).toEqual(data);
});

test('nothing is written when a weight is missing', async () => {
  const tensors = new Map<string, FloatTensor>(initializeWeights(await loadFamily(fixture), 5));
  tensors.delete('model.visual.pos_embed.weight');
  const saved = saveModelFolder(join(dir, 'saved'), { tensors, filesFrom: fixture });
  await expect(saved).rejects.toThrow(/"model\.visual\.pos_embed\.weight" is missing/);
  expect(readdirSync(dir)).toEqual([]);
});
