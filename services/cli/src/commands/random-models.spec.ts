import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, Scores } from '@ui-rl/api';
import { initializeLora, knownConfig, loadModelFolder, planLora, saveAdapter } from '@ui-rl/models';
import { exportCommand } from './export';
import { generateCommand } from './generate';
import { modelsCommand } from './models';
import { scoreCommand } from './score';

const picture = join(__dirname, '../../../../test/golden/fixtures/qwen2-vl-b/images/0.png');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-random-'));
  for (const kind of ['log', 'error'] as const) jest.spyOn(console, kind).mockImplementation(() => undefined);
  cpSync(picture, join(dir, '0.png'));
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

/** A well-known model with narrow layers, as a file; its tokens keep their ids. */
function narrow(id: string, text: object, vision: object): string {
  const config = knownConfig(id)!;
  Object.assign(config.text_config as object, text);
  Object.assign(config.vision_config as object, vision);
  const file = join(dir, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

function conversation(name: string, ...more: object[]): string {
  const content = [
    { type: 'image', path: '0.png' },
    { type: 'text', text: 'Tap "Wi-Fi"' },
  ];
  const file = join(dir, name);
  writeFileSync(file, JSON.stringify({ messages: [{ role: 'user', content }, ...more] }));
  return file;
}

async function read<T>(command: 'score' | 'generate', ...flags: string[]): Promise<T> {
  const json = join(dir, 'result.json');
  const parser = command === 'score' ? scoreCommand() : generateCommand();
  await parser.parseAsync(['--json', json, ...flags], { from: 'user' });
  return JSON.parse(readFileSync(json, 'utf8')) as T;
}

/** Writes an adapter with random values on all linear layers, the tower's included. */
async function writeAdapter(modelDir: string): Promise<string> {
  const { family } = await loadModelFolder(modelDir);
  const plan = planLora(family, { rank: 2, alpha: 4, targets: 'all-linear', dropout: 0, vision: true });
  const tensors = initializeLora(plan, 5);
  for (const { data } of tensors.values()) data.forEach((value, i) => (data[i] = value + 0.1 * Math.sin(i)));
  const out = join(dir, 'adapter');
  await saveAdapter(out, plan, tensors, modelDir);
  return out;
}

const largestGap = (a: Scores, b: Scores): number =>
  Math.max(...a.logprobs.slice(1).map((value, i) => Math.abs(value! - b.logprobs[i + 1]!)));

const heads = { num_attention_heads: 2, num_key_value_heads: 1, head_dim: 16, num_hidden_layers: 2 };
const tower = { num_attention_heads: 2, num_hidden_layers: 2, hidden_size: 32, intermediate_size: 48 };

describe.each([
  [
    'google/gemma-3-4b-it',
    {
      ...heads,
      hidden_size: 32,
      intermediate_size: 48,
      layer_types: ['sliding_attention', 'full_attention'],
    },
    // Of the size at which each patch is a token.
    { ...tower, image_size: 224 },
  ],
  ['OpenGVLab/InternVL3-1B-hf', { ...heads, hidden_size: 32, intermediate_size: 48 }, tower],
])('%s with narrow layers and random weights', (id, text, vision) => {
  it('is written, scored, sampled, merged with an adapter and read back', async () => {
    const model = join(dir, 'model');
    await modelsCommand().parseAsync(['random', '--like', narrow(id, text, vision), '--out', model], {
      from: 'user',
    });
    const sampling = ['--max-tokens', '4', '--temperature', '1'];
    const answer = await read<Answer>(
      'generate',
      '--model',
      model,
      '--input',
      conversation('a.json'),
      ...sampling,
    );
    expect(answer.token_ids.length).toBeGreaterThan(0);

    const input = ['--input', conversation('b.json', { role: 'assistant', content: 'yes, tapped' })];
    const plain = await read<Scores>('score', '--model', model, ...input);
    expect(plain.image_tokens[0]).toBeGreaterThanOrEqual(256);
    const adapter = await writeAdapter(model);
    const adapted = await read<Scores>('score', '--model', model, '--adapter', adapter, ...input);
    expect(largestGap(adapted, plain)).toBeGreaterThan(1e-3);

    const out = join(dir, 'out');
    const flags = ['--checkpoint', adapter, '--model', model, '--merge', '--out', out];
    await exportCommand().parseAsync(flags, { from: 'user' });
    expect(readdirSync(out)).toEqual(
      expect.arrayContaining(['config.json', 'model.safetensors', 'tokenizer.json']),
    );
    const merged = await read<Scores>('score', '--model', out, ...input);
    expect(merged.token_ids).toEqual(plain.token_ids);
    expect(largestGap(merged, adapted)).toBeLessThan(1e-4);
    const names = async (folder: string): Promise<string[]> =>
      (await loadModelFolder(folder)).weights.names().toSorted();
    expect(await names(out)).toEqual(await names(model));
    // Five commands, each of which starts an engine.
  }, 300_000);
});
