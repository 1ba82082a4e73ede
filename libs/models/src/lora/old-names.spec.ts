import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadFamily } from '../folder';
import { readSafetensors, tensorsDigest, writeSafetensors, type FloatTensor } from '../weights/safetensors';
import { loadAdapter } from './adapter';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-old-names-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Former module names: the prefix that stood in place of today's. */
type Names = [today: string, then: string][];

const qwen: Record<string, Names> = {
  'before transformers 4.52': [
    ['model.language_model.', 'model.'],
    ['model.visual.', 'visual.'],
  ],
};
const llava: Record<string, Names> = {
  'before transformers 4.52': [
    ['model.language_model.', 'language_model.model.'],
    ['model.vision_tower.', 'vision_tower.vision_model.'],
    ['model.multi_modal_projector.', 'multi_modal_projector.'],
  ],
  'before transformers 5': [['model.vision_tower.', 'model.vision_tower.vision_model.']],
  'without the output layer': [
    ['model.language_model.', 'language_model.'],
    ['model.vision_tower.', 'vision_tower.'],
    ['model.multi_modal_projector.', 'multi_modal_projector.'],
  ],
};
const internVl: Record<string, Names> = {
  'before transformers 4.52': [
    ['model.language_model.', 'language_model.model.'],
    ['model.vision_tower.', 'vision_tower.'],
    ['model.multi_modal_projector.', 'multi_modal_projector.'],
  ],
  'without the output layer': [
    ['model.language_model.', 'language_model.'],
    ['model.vision_tower.', 'vision_tower.'],
  ],
};
const times: [string, Record<string, Names>][] = [
  ...['qwen2-vl-a', 'qwen2-vl-b', 'qwen2-5-vl-a', 'qwen2-5-vl-b'].map(
    (name): [string, Record<string, Names>] => [name, qwen],
  ),
  ...['llava-a', 'llava-b', 'llava-onevision-a', 'llava-onevision-b', 'gemma3-a', 'gemma3-b'].map(
    (name): [string, Record<string, Names>] => [name, llava],
  ),
  ...['internvl-a', 'internvl-b'].map((name): [string, Record<string, Names>] => [name, internVl]),
];
/** The adapters of some fixtures have no layer of the vision tower, which is all that transformers 5 renamed. */
const cases = times.flatMap(([name, forms]) =>
  Object.entries(forms)
    .filter(([time]) => time !== 'before transformers 5' || name.endsWith('-b'))
    .map(([time, names]): [string, string, Names] => [name, time, names]),
);

/** Copies the adapter of a fixture under other tensor names; returns how many changed. */
async function rename(name: string, names: Names): Promise<number> {
  cpSync(join(fixtures, name, 'adapter'), dir, { recursive: true });
  const file = join(dir, 'adapter_model.safetensors');
  const renamed = new Map<string, FloatTensor>();
  let changed = 0;
  for (const [tensor, value] of await readSafetensors(file)) {
    const path = tensor.replace('base_model.model.', '');
    const found = names.find(([today]) => path.startsWith(today));
    if (found !== undefined) changed += 1;
    renamed.set(`base_model.model.${found === undefined ? path : path.replace(...found)}`, value);
  }
  await writeSafetensors(file, renamed);
  return changed;
}

const familyOf = (name: string) => loadFamily(join(fixtures, name, 'model'));

test.each(cases)('an adapter of %s with names of %s is the adapter of today', async (name, _, names) => {
  expect(await rename(name, names)).toBeGreaterThan(0);
  const family = await familyOf(name);
  const [old, today] = [
    await loadAdapter(dir, family),
    await loadAdapter(join(fixtures, name, 'adapter'), family),
  ];
  expect(old.plan).toEqual(today.plan);
  expect(tensorsDigest(old.tensors)).toBe(tensorsDigest(today.tensors));
});

test('ranks and alphas by path are those of layers with names of their time', async () => {
  await rename('qwen2-5-vl-a', qwen['before transformers 4.52']);
  const family = await familyOf('qwen2-5-vl-a');
  const [first] = (await loadAdapter(dir, family)).plan.modules.filter(({ part }) => part === 'text');
  const file = join(dir, 'adapter_config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const path = first.name.replace('model.language_model.', 'model.');
  writeFileSync(file, JSON.stringify({ ...config, alpha_pattern: { [`^${path}`]: 30 * first.rank } }));
  const scales = (await loadAdapter(dir, family)).plan.modules.filter(({ scale }) => scale === 30);
  expect(scales.map(({ name }) => name)).toEqual([first.name]);
});

test('a layer that is there under both names is refused', async () => {
  cpSync(join(fixtures, 'llava-a/adapter'), dir, { recursive: true });
  const file = join(dir, 'adapter_model.safetensors');
  const tensors = await readSafetensors(file);
  const name = [...tensors.keys()].find((each) => each.includes('.language_model.'))!;
  tensors.set(name.replace('model.language_model.', 'language_model.model.'), tensors.get(name)!);
  await writeSafetensors(file, tensors);
  await expect(loadAdapter(dir, await familyOf('llava-a'))).rejects.toThrow(
    `adapter tensor "${name}" is there twice`,
  );
});
