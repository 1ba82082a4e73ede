import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scores } from '@ui-rl/api';
import { FakeHub } from '@ui-rl/testkit';
import { exportCommand } from './export';
import { scoreCommand } from './score';

interface Golden {
  images: { file: string }[];
  messages: { role: string; content: { type: string; path?: string }[] }[];
  response: string;
  lora: { logprobs: number[] };
}

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-export-'));
  jest.spyOn(console, 'log').mockImplementation(() => undefined);
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

function run(...flags: string[]): Promise<unknown> {
  return exportCommand().parseAsync(['--out', join(dir, 'out'), ...flags], { from: 'user' });
}

/** A golden conversation with its response as a file. */
function conversation(golden: string, { messages, images, response }: Golden): string {
  let next = 0;
  const shown = messages.map((message) => ({
    ...message,
    content: message.content.map((part) =>
      part.type === 'image' ? { ...part, path: join(golden, images[next++].file) } : part,
    ),
  }));
  const file = join(dir, 'conversation.json');
  writeFileSync(file, JSON.stringify({ messages: [...shown, { role: 'assistant', content: response }] }));
  return file;
}

const names = [
  'qwen2-vl-b',
  'qwen2-5-vl-a',
  'qwen3-vl-b',
  'qwen3-vl-moe-a',
  'qwen3-vl-moe-b',
  'qwen3-5-b',
  'gemma3-b',
];

describe.each(names)('ui-rl export, %s', (name) => {
  const golden = join(fixtures, name);
  const flags = ['--checkpoint', join(golden, 'adapter'), '--model', join(golden, 'model')];

  it('merges an adapter into a model that says what the reference says with the adapter', async () => {
    const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Golden;
    await run(...flags, '--merge');
    const input = conversation(golden, expected);
    const json = join(dir, 'scores.json');
    await scoreCommand().parseAsync(['--model', join(dir, 'out'), '--input', input, '--json', json], {
      from: 'user',
    });
    const { logprobs } = JSON.parse(readFileSync(json, 'utf8')) as Scores;
    expected.lora.logprobs.forEach((value, index) => {
      expect(Math.abs((logprobs[index + 1] ?? Number.NaN) - value)).toBeLessThan(1e-4);
    });
  });

  it('writes the adapter as PEFT reads it, without what training needs', async () => {
    await run(...flags);
    expect(readdirSync(join(dir, 'out')).toSorted()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
    ]);
    const config = JSON.parse(readFileSync(join(dir, 'out/adapter_config.json'), 'utf8')) as object;
    expect(config).toMatchObject({ peft_type: 'LORA', base_model_name_or_path: join(golden, 'model') });
  });
});

describe('ui-rl export, bad input', () => {
  const golden = join(fixtures, 'qwen3-vl-a');

  it('says that there is no such checkpoint, or that it is none', async () => {
    await expect(run('--checkpoint', join(dir, 'none'))).rejects.toThrow(/none: no such checkpoint/);
    await expect(run('--checkpoint', join(golden, 'images'))).rejects.toThrow(/neither adapter_config\.json/);
  });

  it('writes over nothing', async () => {
    writeFileSync(join(dir, 'a'), '');
    const written = exportCommand().parseAsync(['--checkpoint', join(golden, 'adapter'), '--out', dir], {
      from: 'user',
    });
    await expect(written).rejects.toThrow(/holds 1 files already/);
  });

  it('refuses an adapter of another model', async () => {
    const flags = ['--checkpoint', join(golden, 'adapter'), '--model', join(fixtures, 'qwen3-vl-b/model')];
    await expect(run(...flags, '--merge')).rejects.toThrow(/adapter_model\.safetensors.*has shape/);
  });
});

it('ui-rl export finds the model of an adapter on the hub, at the commit it was trained on', async () => {
  const golden = join(fixtures, 'qwen3-vl-b');
  const files = Object.fromEntries(
    readdirSync(join(golden, 'model')).map((name) => [name, readFileSync(join(golden, 'model', name))]),
  );
  const hub = await FakeHub.start();
  const before = process.env;
  process.env = { ...before, HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: join(dir, 'hub') };
  try {
    const revision = hub.put('org/base', { files });
    cpSync(join(golden, 'adapter'), join(dir, 'adapter'), { recursive: true });
    const config = join(dir, 'adapter/adapter_config.json');
    const json = JSON.parse(readFileSync(config, 'utf8')) as object;
    writeFileSync(config, JSON.stringify({ ...json, base_model_name_or_path: 'org/base', revision }));
    await run('--checkpoint', join(dir, 'adapter'), '--merge');
    expect(readdirSync(join(dir, 'out'))).toContain('model.safetensors');
    expect(hub.requests.some(({ path }) => path.includes(`/resolve/${revision}/`))).toBe(true);
  } finally {
    process.env = before;
    await hub.stop();
  }
});
