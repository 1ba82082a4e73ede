import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, Scores } from '@ui-rl/api';
import { generateCommand } from './generate';
import { scoreCommand } from './score';

interface Golden {
  images: { file: string }[];
  messages: { role: string; content: { type: string; path?: string }[] }[];
  response: string;
  prompt_ids: number[];
  response_ids: number[];
  logprobs: number[];
  greedy_ids: number[];
  lora: { logprobs: number[] };
}

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-score-'));
});

afterAll(() => rmSync(dir, { recursive: true }));

/** A golden case with its conversation as files: `asked` ends with the user, `answered` with the response. */
function open(name: string) {
  const golden = join(fixtures, name);
  const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Golden;
  let next = 0;
  const asked = expected.messages.map((message) => ({
    ...message,
    content: message.content.map((part) =>
      part.type === 'image' ? { ...part, path: join(golden, expected.images[next++].file) } : part,
    ),
  }));
  const answered = [...asked, { role: 'assistant', content: [{ type: 'text', text: expected.response }] }];
  const write = (file: string, messages: object[]): string => {
    const path = join(dir, `${name}-${file}`);
    writeFileSync(path, JSON.stringify({ messages }));
    return path;
  };
  return {
    expected,
    model: join(golden, 'model'),
    adapter: join(golden, 'adapter'),
    asked: () => write('asked.json', asked),
    answered: () => write('answered.json', answered),
  };
}

async function run<T>(command: 'score' | 'generate', ...flags: string[]): Promise<T> {
  const out = join(dir, 'out.json');
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    const parser = command === 'score' ? scoreCommand() : generateCommand();
    await parser.parseAsync(['--json', out, ...flags], { from: 'user' });
  } finally {
    log.mockRestore();
  }
  return JSON.parse(readFileSync(out, 'utf8')) as T;
}

function largestDifference(found: readonly (number | null)[], expected: readonly number[]): number {
  return Math.max(...expected.map((value, index) => Math.abs(value - (found[index + 1] ?? Number.NaN))));
}

// Conversations with every family are compared with the reference beside the class that loads them; this tests one
// through the command.
describe('ui-rl score', () => {
  const { expected, model, answered } = open('qwen3-vl-a');

  it('gives the log-probabilities of the reference, and says which tokens are answers', async () => {
    const scores = await run<Scores>('score', '--model', model, '--input', answered());
    const sampled = [...expected.prompt_ids, ...expected.response_ids];
    expect(scores.token_ids.slice(0, sampled.length)).toEqual(sampled);
    expect(scores.logprobs).toHaveLength(scores.token_ids.length);
    expect(largestDifference(scores.logprobs, expected.logprobs)).toBeLessThan(1e-4);
    const last = scores.assistant_mask.slice(expected.prompt_ids.length, sampled.length);
    expect(last).toEqual(expected.response_ids.map(() => 1));
  });
});

// Adapters of every family are compared with PEFT beside the models; this tests them through the command.
describe.each(['qwen3-vl-moe-a', 'idefics2-b', 'llava-onevision-a'])('ui-rl score --adapter, %s', (name) => {
  const { expected, model, adapter, answered } = open(name);

  it('gives the log-probabilities of the reference with a PEFT adapter', async () => {
    const flags = ['--model', model, '--adapter', adapter, '--input', answered()];
    const { logprobs } = await run<Scores>('score', ...flags);
    expect(largestDifference(logprobs, expected.lora.logprobs)).toBeLessThan(1e-4);
  });
});

describe('ui-rl score, weights in few bits', () => {
  const { expected, model, answered } = open('qwen3-vl-a');

  it.each([
    [['--dtype', 'bf16'], 1e-4, 0.5],
    [['--quantization', 'int8'], 1e-5, 0.3],
    [['--quantization', 'int4'], 1e-3, 5],
  ])('%s gives nearly what the stored ones give', async (flags, least, most) => {
    const { logprobs } = await run<Scores>('score', '--model', model, '--input', answered(), ...flags);
    const difference = largestDifference(logprobs, expected.logprobs);
    expect(difference).toBeGreaterThan(least);
    expect(difference).toBeLessThan(most);
  });
});

describe('ui-rl score, bad input', () => {
  const { model } = open('qwen3-vl-a');

  it('says what a device needs that cannot be used', async () => {
    const { answered } = open('qwen3-vl-a');
    const scored = run('score', '--model', model, '--input', answered(), '--device', 'cuda');
    await expect(scored).rejects.toThrow(/cannot be prepared on cuda: [^]+ONNXRUNTIME_NODE_INSTALL=cuda12/);
  });

  it.each([
    ['{', /is not JSON/],
    ['{}', /expected \{"messages"/],
    ['{"messages":[{"role":"robot","content":"x"}]}', /messages\[0\]\.role: .*found "robot"/],
    ['{"messages":[{"role":"user","content":[{"type":"image"}]}]}', /content\[0\]\.path: .*found nothing/],
    ['{"messages":[{"role":"user","content":[{"type":"image","path":"no.png"}]}]}', /no\.png cannot be read/],
    ['{"messages":[{"role":"user","content":[{"type":"video"}]}]}', /content\[0\]\.type: .*"video"/],
  ])('names the place of bad input: %s', async (text, message) => {
    writeFileSync(join(dir, 'bad.json'), text);
    await expect(run('score', '--model', model, '--input', join(dir, 'bad.json'))).rejects.toThrow(message);
  });

  it('says which image cannot be read as one', async () => {
    writeFileSync(join(dir, 'a.png'), 'no image');
    const content = [{ type: 'image', path: 'a.png' }];
    writeFileSync(join(dir, 'bad.json'), JSON.stringify({ messages: [{ role: 'user', content }] }));
    const scored = run('score', '--model', model, '--input', join(dir, 'bad.json'));
    await expect(scored).rejects.toThrow(/image 0: 8 bytes cannot be decoded/);
  });
});

describe('ui-rl generate', () => {
  const { expected, model, asked, answered } = open('qwen3-vl-a');

  it('takes the likeliest tokens, those of the reference', async () => {
    const flags = ['--model', model, '--input', asked(), '--max-tokens', '32'];
    const answer = await run<Answer>('generate', ...flags);
    expect(answer.prompt_token_ids).toEqual(expected.prompt_ids);
    expect(answer.token_ids).toEqual(expected.greedy_ids);
    expect(answer.logprobs).toHaveLength(32);
  });

  it('samples by its seed', async () => {
    const flags = ['--model', model, '--input', asked(), '--max-tokens', '8', '--temperature', '1'];
    const sample = (seed: string) => run<Answer>('generate', ...flags, '--seed', seed);
    const [first, again, other] = [await sample('1'), await sample('1'), await sample('2')];
    expect(again.token_ids).toEqual(first.token_ids);
    expect(other.token_ids).not.toEqual(first.token_ids);
  });

  it('refuses a conversation that is answered already', async () => {
    const answer = run('generate', '--model', model, '--input', answered());
    await expect(answer).rejects.toThrow(/last message is the assistant's/);
  });
});
