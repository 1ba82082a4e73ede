import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import OpenAI from 'openai';
import { LearnerWorld } from '../../test/learner-world';

const KEY = 'a-key-for-tests-only';
/** Longest time that a prompt may block other work. Tokenizing whole megabytes took five seconds each. */
const MAX_DELAY_MS = 3_000;

let world: LearnerWorld;
let runId: string;
let client: OpenAI;

beforeAll(async () => {
  world = await LearnerWorld.open();
  runId = await world.startRun(
    { 'model.max_sequence': 256 },
    {
      ...{ host: '127.0.0.1', port: 0, keys: [KEY], keyFile: '', sealFile: join(world.runsDir, 'seal') },
      ...{ maxRequests: 8, maxBodyBytes: 2 ** 25 },
    },
  );
  client = new OpenAI({ baseURL: world.endpointUrl, apiKey: KEY, maxRetries: 0, timeout: 60_000 });
});
afterAll(async () => {
  await world.quit();
  await world.close();
});

/** The longest time without other work, in ms. */
async function delayOf(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  await work();
  delay.disable();
  return delay.max / 1e6;
}

const words = (bytes: number) => 'the quick brown fox '.repeat(Math.ceil(bytes / 20));
const TEXTS: [string, string][] = [
  ['10 MB of words', words(10_000_000)],
  ['1 MB of words', words(1_000_000)],
  ['1 MB of spaces', ' '.repeat(1_000_000)],
  ['100 kB of one word', 'a'.repeat(100_000)],
  ['100 kB of special tokens', '<|im_end|>'.repeat(10_000)],
];

it.each(TEXTS)(
  '%s are refused while other requests continue',
  async (_name, text) => {
    const ask = (path: 'chat' | 'completions' | 'responses') =>
      path === 'chat'
        ? client.chat.completions.create({ model: 'latest', messages: [{ role: 'user', content: text }] })
        : path === 'completions'
          ? client.completions.create({ model: 'latest', prompt: text })
          : client.responses.create({ model: 'latest', input: text, truncation: 'auto' });
    const delay = await delayOf(async () => {
      for (const path of ['chat', 'completions', 'responses'] as const)
        await expect(ask(path)).rejects.toMatchObject({
          status: 400,
          code: 'context_length_exceeded',
          message: expect.stringMatching(/the prompt has more than 255 tokens .*model\.max_sequence/),
        });
    });
    expect(delay).toBeLessThan(MAX_DELAY_MS);
  },
  120_000,
);

it('a prompt that is too long is refused to actors, too, while other requests continue', async () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: words(800_000) }] }];
  const delay = await delayOf(async () => {
    const reply = await world.act(runId, 'r/0', { messages, images: [] });
    expect(reply).toMatchObject({ ok: false, error: { code: 'prompt_too_long' } });
  });
  expect(delay).toBeLessThan(MAX_DELAY_MS);
});

/** A conversation with this many numbered turns. */
function turns(count: number, padding = ''): OpenAI.Responses.ResponseInputItem[] {
  return Array.from({ length: count }, (_, index): OpenAI.Responses.ResponseInputItem[] => [
    { role: 'user', content: `${index} ${padding}` },
    { role: 'assistant', content: 'ok' },
  ])
    .flat()
    .slice(0, -1);
}

it('leaves out as few turns as it has to with truncation: auto', async () => {
  const asked = { model: 'latest', max_output_tokens: 1 };
  const tokensOf = async (count: number) =>
    (await client.responses.create({ ...asked, input: turns(30).slice(-count) })).usage!.input_tokens;
  const fitted = await client.responses.create({ ...asked, input: turns(30), truncation: 'auto' });
  await expect(client.responses.create({ ...asked, input: turns(30) })).rejects.toMatchObject({
    code: 'context_length_exceeded',
  });
  // One more turn makes it too long.
  let count = 1;
  let before = 0;
  for (;;) {
    const tokens = await tokensOf(count).catch(() => undefined);
    if (tokens === undefined) break;
    [before, count] = [tokens, count + 2];
  }
  expect(fitted.usage!.input_tokens).toBe(before);
}, 60_000);

it('finds the turns that fit out of 500 of 1.6 kB while other requests continue', async () => {
  const input = [...turns(500, words(1_600)), { role: 'user' as const, content: 'And now?' }];
  const asked = { model: 'latest', max_output_tokens: 1, input, truncation: 'auto' as const };
  const delay = await delayOf(async () => {
    expect((await client.responses.create(asked)).usage!.input_tokens).toBeLessThan(256);
  });
  expect(delay).toBeLessThan(MAX_DELAY_MS);
}, 60_000);
