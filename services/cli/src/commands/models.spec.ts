import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, ModelDescription, Scores } from '@ui-rl/api';
import { LocalEngine, supervisedStep } from '@ui-rl/engine';
import { knownConfig, loadModelFolder, supportedModelTypes } from '@ui-rl/models';
import { FakeHub } from '@ui-rl/testkit';
import { generateCommand } from './generate';
import { modelsCommand } from './models';
import { scoreCommand } from './score';

const root = join(__dirname, '../../../..');
const fixture = join(root, 'test/golden/fixtures/qwen2-vl-b');
let dir: string;
let printed: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-models-'));
  printed = [];
  jest.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  jest.spyOn(console, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

async function run(...args: string[]): Promise<string> {
  printed = [];
  await modelsCommand().parseAsync(args, { from: 'user' });
  return printed.join('\n');
}

describe('ui-rl models', () => {
  it('lists every family with a well-known model', async () => {
    const rows = JSON.parse(await run('--json')) as {
      model_type: string;
      family: string;
      models: string[];
    }[];
    expect(rows.map((row) => row.model_type)).toEqual(supportedModelTypes());
    for (const { family, models } of rows) {
      expect(family).toMatch(/^[a-z]/);
      expect(models.length).toBeGreaterThan(0);
    }
    expect(await run()).toMatch(/qwen3_vl +qwen3-vl +Qwen\/Qwen3-VL-2B-Instruct/);
  });

  it('describes what a folder holds', async () => {
    const described = JSON.parse(
      await run(join(fixture, 'model'), '--json', '--rank', '4'),
    ) as ModelDescription;
    const { weights } = await loadModelFolder(join(fixture, 'model'));
    const sizes = weights.names().map((name) => weights.entry(name));
    const parameters = sizes.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    expect(described).toMatchObject({ family: 'qwen2-vl', model_type: 'qwen2_vl' });
    expect(described.parameters.total).toBe(parameters);
    expect(described.parameters.text + described.parameters.vision).toBe(parameters);
    const vision = sizes.filter(({ name }) => name.startsWith('visual.'));
    expect(described.parameters.vision).toBe(
      vision.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0),
    );
    expect(described.weights?.bytes).toBe(sizes.reduce((sum, { length }) => sum + length, 0));
    expect(described.adapters).toHaveLength(8);
    const text = await run(join(fixture, 'model'), '--rank', '4');
    expect(text).toMatch(/qwen2-vl \(qwen2_vl\)[^]*adapter of rank 4[^]*key\/value cache/);
  });

  it('counts the parameters of adapters as PEFT does', async () => {
    const config = JSON.parse(readFileSync(join(fixture, 'model/config.json'), 'utf8')) as Record<
      string,
      number
    >;
    const text = (config.text_config ?? config) as unknown as Record<string, number>;
    const { adapters } = JSON.parse(
      await run(join(fixture, 'model'), '--json', '--rank', '4'),
    ) as ModelDescription;
    const mlp = adapters.find(({ targets, vision }) => targets === 'mlp' && !vision)!;
    expect(mlp.parameters).toBe(3 * 4 * (text.hidden_size + text.intermediate_size) * text.num_hidden_layers);
    expect(mlp.layers).toBe(3 * text.num_hidden_layers);
  });

  it('knows the shape of well-known models without a hub', async () => {
    const before = process.env;
    process.env = { ...before, HF_HUB_OFFLINE: '1', HF_HUB_CACHE: join(dir, 'hub') };
    try {
      const described = JSON.parse(await run('Qwen/Qwen2-VL-2B-Instruct', '--json')) as ModelDescription;
      expect(described.parameters.total).toBe(2_208_985_600);
      expect(described.weights).toBeNull();
      await expect(run('org/none')).rejects.toThrow(/not complete in the cache/);
    } finally {
      process.env = before;
    }
  });

  it('asks the hub for the shape alone, also for random weights', async () => {
    const files = Object.fromEntries(
      readdirSync(join(fixture, 'model')).map((name) => [name, readFileSync(join(fixture, 'model', name))]),
    );
    const hub = await FakeHub.start();
    const before = process.env;
    process.env = { ...before, HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: join(dir, 'hub') };
    try {
      hub.put('org/small', { files });
      const described = JSON.parse(await run('org/small', '--json')) as ModelDescription;
      expect(described).toMatchObject({ family: 'qwen2-vl', weights: null });
      expect(
        hub.requests.filter(({ path }) => path.includes('.safetensors') && !path.includes('json')),
      ).toEqual([]);
    } finally {
      process.env = before;
      await hub.stop();
    }
  });
});

/** Qwen2-VL-2B with narrow layers: its tokens keep their ids. */
function narrow(): string {
  const config = knownConfig('Qwen/Qwen2-VL-2B-Instruct')!;
  Object.assign(config, {
    hidden_size: 128,
    intermediate_size: 64,
    num_attention_heads: 1,
    num_hidden_layers: 2,
    num_key_value_heads: 1,
  });
  Object.assign(config.vision_config as object, { depth: 1, embed_dim: 32, num_heads: 2, hidden_size: 128 });
  const file = join(dir, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

describe('ui-rl models random', () => {
  it('writes a model that scores, generates and trains', async () => {
    const out = join(dir, 'out');
    const text = await run('random', '--like', narrow(), '--out', out, '--max-shard-size', '20MB');
    expect(text).toMatch(/qwen2-vl with random weights \(19\.\d million parameters, [\d.]+ MB, \d files\)/);
    cpSync(join(fixture, 'images/0.png'), join(dir, '0.png'));
    const asked = [
      {
        role: 'user',
        content: [
          { type: 'image', path: '0.png' },
          { type: 'text', text: 'Tap "Wi-Fi"' },
        ],
      },
    ];
    const write = (messages: object[]): string => {
      const file = join(dir, 'conversation.json');
      writeFileSync(file, JSON.stringify({ messages }));
      return file;
    };
    const json = join(dir, 'result.json');
    const flags = ['--model', out, '--json', json, '--input'];
    const sampling = ['--max-tokens', '4', '--temperature', '1'];
    await generateCommand().parseAsync([...flags, write(asked), ...sampling], { from: 'user' });
    const answer = JSON.parse(readFileSync(json, 'utf8')) as Answer;
    expect(answer.token_ids.length).toBeGreaterThan(0);
    expect(answer.text).toMatch(/./);
    const answered = [...asked, { role: 'assistant', content: 'yes' }];
    await scoreCommand().parseAsync([...flags, write(answered)], { from: 'user' });
    const scores = JSON.parse(readFileSync(json, 'utf8')) as Scores;
    expect(scores.image_tokens[0]).toBeGreaterThan(0);
    // Random weights assign about the same probability to each of 151,936 tokens.
    for (const logprob of scores.logprobs.slice(1))
      expect(Math.abs(logprob! + Math.log(151_936))).toBeLessThan(4);
    await expectToTrain(
      out,
      answer.prompt_token_ids.filter((id) => id !== 151_655),
    );
  });

  it('refuses shapes it does not know, folders that are not empty, other families', async () => {
    const out = ['--out', join(dir, 'out')];
    await expect(run('random', ...out)).rejects.toThrow(/which shape\? Name it with --like/);
    await expect(run('random', '--family', 'gpt', ...out)).rejects.toThrow(
      /no well-known shape is of that family/,
    );
    const wrong = ['--like', 'Qwen/Qwen2-VL-2B-Instruct', '--family', 'qwen3-vl'];
    await expect(run('random', ...wrong, ...out)).rejects.toThrow(
      /is of the family qwen2-vl \(qwen2_vl\), not qwen3-vl/,
    );
    await expect(run('random', '--like', narrow(), '--out', dir)).rejects.toThrow(/holds 1 files already/);
    expect(readdirSync(dir)).toEqual(['config.json']);
  });
});

async function expectToTrain(modelDir: string, tokenIds: number[]): Promise<void> {
  const lora = { rank: 2, alpha: 4, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
  const engine = await LocalEngine.start({
    modelDir,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } }],
    maxRows: 1,
    maxSequence: 256,
    seed: 0,
  });
  try {
    const mask = tokenIds.map((_, place) => (place > 2 ? 1 : 0));
    const sequence = { tokenIds, images: [], mask };
    // The tokens contain no image.
    const { gradNorm } = await supervisedStep(engine, [sequence], {
      imageTokenId: -1,
      loss: { name: 'cross_entropy' },
      optimizer: { name: 'adamw' },
      learningRate: 1e-3,
    });
    expect(gradNorm).toBeGreaterThan(0);
  } finally {
    await engine.stop();
  }
}
