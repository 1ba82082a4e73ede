import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Family } from '../families/base';
import { loadFamily } from '../folder';
import { initializeLora } from '../initialize';
import { readSafetensors, tensorsDigest } from '../weights/safetensors';
import { loadAdapter, saveAdapter } from './adapter';
import { loraParameters, planLora, type LoraConfig } from './plan';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const base: LoraConfig = { rank: 4, alpha: 8, targets: 'attention', dropout: 0 };

let family: Family;
let dir: string;
beforeAll(async () => {
  family = await loadFamily(join(fixtures, 'qwen3-vl-a/model'));
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-lora-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** The last parts of the names of adapted layers. */
function adapted(config: Partial<LoraConfig>): string[] {
  const { modules } = planLora(family, { ...base, ...config });
  return [...new Set(modules.map(({ name }) => name.split('.').slice(-1)[0]))].toSorted();
}

test('groups name the layers of the text model', () => {
  expect(adapted({ targets: 'attention' })).toEqual(['k_proj', 'o_proj', 'q_proj', 'v_proj']);
  expect(adapted({ targets: 'mlp' })).toEqual(['down_proj', 'gate_proj', 'up_proj']);
  expect(adapted({ targets: 'attention+mlp' })).toHaveLength(7);
  expect(adapted({ targets: 'all-linear' })).toHaveLength(7);
});

test('the vision tower takes part when asked', () => {
  expect(adapted({ vision: true })).toEqual(['k_proj', 'o_proj', 'proj', 'q_proj', 'qkv', 'v_proj']);
  const names = planLora(family, { ...base, vision: true, targets: 'all-linear' }).modules.map(
    ({ name }) => name,
  );
  expect(names).toContain('model.visual.merger.linear_fc1');
  expect(names).not.toContain('lm_head');
});

test.each(readdirSync(fixtures))('the vision tower of %s takes part when asked', async (name) => {
  const own = await loadFamily(join(fixtures, name, 'model'));
  const parts = (vision: boolean): Set<string> =>
    new Set(planLora(own, { ...base, vision }).modules.map(({ part }) => part));
  expect(parts(false)).toEqual(new Set(['text']));
  expect(parts(true)).toEqual(new Set(['text', 'vision']));
});

test('a list names layers by the end of their path', () => {
  const { modules } = planLora(family, { ...base, targets: ['q_proj', 'layers.1.mlp.up_proj'] });
  expect(modules.map(({ name }) => name)).toEqual([
    'model.language_model.layers.0.self_attn.q_proj',
    'model.language_model.layers.1.self_attn.q_proj',
    'model.language_model.layers.1.mlp.up_proj',
    'model.language_model.layers.2.self_attn.q_proj',
  ]);
});

test('PEFT is given short names only where they reach no other layer', () => {
  const names = (config: Partial<LoraConfig>): string[] =>
    planLora(family, { ...base, ...config }).targetModules;
  expect(names({ targets: 'mlp' })).toEqual(['down_proj', 'gate_proj', 'up_proj']);
  expect(names({ targets: ['layers.1.mlp.up_proj'] })).toEqual(['model.language_model.layers.1.mlp.up_proj']);
  expect(names({ targets: ['blocks.0.attn.proj'] })).toEqual(['model.visual.blocks.0.attn.proj']);
});

test.each([
  [{ targets: ['q_proj', 'query'] }, /"query" names no linear layer of qwen3-vl.*q_proj/],
  [{ rank: 0 }, /rank: expected an integer of at least 1, found 0/],
  [{ alpha: -1 }, /alpha: expected a positive number/],
  [{ dropout: 1 }, /dropout: expected a share below 1, found 1/],
])('refuses %j', (config, message) => {
  expect(() => planLora(family, { ...base, ...config })).toThrow(message);
});

test('a new adapter has A within its bound, B zero, and depends on the seed only', () => {
  const plan = planLora(family, base);
  const tensors = initializeLora(plan, 3);
  expect([...tensors.keys()]).toEqual(loraParameters(plan).map(({ name }) => name));
  for (const { name, shape, side } of loraParameters(plan)) {
    const { data } = tensors.get(name)!;
    const largest = Math.max(...data.map(Math.abs));
    if (side === 'B') expect(largest).toBe(0);
    else expect(largest * Math.sqrt(shape[1])).toBeGreaterThan(0.9);
    expect(largest * Math.sqrt(shape[1])).toBeLessThanOrEqual(1);
  }
  expect(tensorsDigest(initializeLora(plan, 3))).toBe(tensorsDigest(tensors));
  expect(tensorsDigest(initializeLora(plan, 4))).not.toBe(tensorsDigest(tensors));
});

test.each([
  'qwen3-vl-a',
  'qwen3-vl-b',
  'qwen3-vl-moe-a',
  'qwen3-vl-moe-b',
  'qwen3-5-a',
  'qwen3-5-b',
  'qwen3-5-moe-a',
])("PEFT's adapter of %s is read, written and read again unchanged", async (name) => {
  const own = await loadFamily(join(fixtures, name, 'model'));
  const { plan, tensors } = await loadAdapter(join(fixtures, name, 'adapter'), own);
  await saveAdapter(dir, plan, tensors, 'some/base');
  const again = await loadAdapter(dir, own);
  expect(again.baseModel).toBe('some/base');
  expect(again.plan).toEqual(plan);
  expect(again.tensors).toEqual(
    await readSafetensors(join(fixtures, name, 'adapter/adapter_model.safetensors')),
  );
});

describe('refuses an adapter', () => {
  async function refusal(change: Record<string, unknown>): Promise<void> {
    const plan = planLora(family, base);
    await saveAdapter(dir, plan, initializeLora(plan, 1));
    const file = join(dir, 'adapter_config.json');
    const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...config, ...change }));
    await loadAdapter(dir, family);
  }

  test.each([
    [{ use_dora: true }, /adapter_config\.json: use_dora = true is not supported/],
    [{ rank_pattern: { q_proj: 8 } }, /q_proj\.lora_A\.weight" has shape \[4, 64\], expected \[8, 64\]/],
    [{ init_lora_weights: 'pissa' }, /init_lora_weights = "pissa" is not supported/],
    [
      { target_parameters: ['mlp.experts.down_proj'] },
      /target_parameters: expected routers or experts of qwen3-vl/,
    ],
    [{ modules_to_save: ['lm_head'] }, /modules_to_save/],
    [{ peft_type: 'IA3' }, /peft_type: expected one of LORA, found "IA3"/],
    [{ r: 8 }, /lora_A\.weight" has shape \[4, 64\], expected \[8, 64\]/],
  ])('with %j', async (change, message) => {
    await expect(refusal(change)).rejects.toThrow(message);
  });

  test('of another model', async () => {
    const other = await loadFamily(join(fixtures, 'qwen3-vl-b/model'));
    await expect(loadAdapter(join(fixtures, 'qwen3-vl-a/adapter'), other)).rejects.toThrow(/has shape/);
  });

  test('from a folder that holds none', async () => {
    await expect(loadAdapter(dir, family)).rejects.toThrow(/adapter_config\.json: cannot be read/);
  });
});
