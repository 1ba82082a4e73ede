import OpenAI from 'openai';
import sharp from 'sharp';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from '../http/server';
import { Seal } from './seal';

const speaker = new Speaker();
let endpoint: Endpoint;
let client: OpenAI;
let screenshot: string;

beforeAll(async () => {
  const png = await sharp({ create: { width: 20, height: 10, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  screenshot = `data:image/png;base64,${png.toString('base64')}`;
  endpoint = await openFor(speaker);
  client = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterAll(() => endpoint.close());
beforeEach(() => {
  speaker.asked.length = 0;
  speaker.says = 'Wi-Fi is on.';
});

const look = () => ({
  role: 'user' as const,
  content: [
    { type: 'input_text' as const, text: 'Enable Wi-Fi' },
    { type: 'input_image' as const, image_url: screenshot, detail: 'auto' as const },
  ],
});
const called = (call_id: string) => ({
  type: 'function_call' as const,
  call_id,
  name: 'tap',
  arguments: '{"row":3}',
});
const output = (call_id: string) => ({ type: 'function_call_output' as const, call_id, output: 'done' });

function askedLast() {
  const { prompt } = speaker.asked.at(-1)!;
  if (prompt.kind !== 'conversation') throw new Error('expected a conversation');
  return prompt.conversation;
}

it('keeps what system and user wrote, and sums up all the rest in the policy’s own words', async () => {
  const compacted = await client.responses.compact({
    model: 'latest',
    instructions: 'Be short.',
    input: [{ role: 'system', content: 'You operate a phone.' }, look(), called('a'), output('a')],
  });
  expect(compacted).toMatchObject({
    object: 'response.compaction',
    usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 },
    output: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'You operate a phone.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Enable Wi-Fi' },
          { type: 'input_image', image_url: screenshot },
        ],
      },
      { type: 'compaction', encrypted_content: expect.stringMatching(/^[\w-]{60,}$/) },
    ],
  });
  expect(JSON.stringify(compacted)).not.toContain('Wi-Fi is on.');
  const { messages } = askedLast();
  expect(messages.map(({ role }) => role)).toEqual(['system', 'system', 'user', 'assistant', 'tool', 'user']);
  expect(messages[0].content[0].text).toBe('Be short.');
});

it('gives a conversation to continue from, also for outputs of calls that were summed up, and once more', async () => {
  const first = await client.responses.compact({ model: 'latest', input: [look(), called('a')] });
  const window = first.output as OpenAI.Responses.ResponseInputItem[];
  await client.responses.create({
    model: 'latest',
    input: [...window, output('a'), { role: 'user', content: 'And now?' }],
  });
  const { messages, images } = askedLast();
  expect(
    messages.map(({ role, content }) => [role, content.find(({ text }) => text !== undefined)?.text]),
  ).toEqual([
    ['user', 'Enable Wi-Fi'],
    ['assistant', 'Wi-Fi is on.'],
    ['tool', 'done'],
    ['user', 'And now?'],
  ]);
  expect(images).toHaveLength(1);
  speaker.says = 'All is done.';
  const second = await client.responses.compact({
    model: 'latest',
    input: [...window, { role: 'user', content: 'Good.' }],
  });
  expect(second.output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
});

it('compacts a stored response, whose passed screens are summed up', async () => {
  const first = await client.responses.create({ model: 'latest', input: [look(), called('a'), output('a')] });
  const screens = await client.responses.create({
    model: 'latest',
    previous_response_id: first.id,
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: screenshot, detail: 'auto' }] }],
  });
  const { output: kept } = await client.responses.compact({
    model: 'latest',
    previous_response_id: screens.id,
  });
  expect(kept.map(({ type }) => type)).toEqual(['message', 'compaction']);
  await expect(
    client.responses.compact({ model: 'latest', previous_response_id: 'none' }),
  ).rejects.toMatchObject({
    code: 'previous_response_not_found',
  });
});

it.each([
  [{ input: 'hi' }, 'model'],
  [{ model: 'latest' }, 'input'],
  [{ model: 'latest', input: 'hi', no_such_field: 1 }, 'no_such_field'],
  [
    { model: 'latest', input: [{ type: 'compaction', encrypted_content: 'AAAA' }] },
    'input[0].encrypted_content',
  ],
])('refuses %j and names the field', async (body, param) => {
  await expect(
    client.responses.compact(body as OpenAI.Responses.ResponseCompactParams),
  ).rejects.toMatchObject({
    status: 400,
    param,
  });
  expect(speaker.asked).toEqual([]);
});

it('opens what was sealed with the same secret, and nothing that was changed', () => {
  const compacted = { summary: 'sämtliches', calls: ['a'] };
  const sealed = new Seal(() => 'one').close(compacted);
  expect(new Seal(() => 'one').open(sealed)).toEqual(compacted);
  expect(new Seal(() => 'another').open(sealed)).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64url');
  for (const at of [0, 12, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    expect(new Seal(() => 'one').open(changed.toString('base64url'))).toBeUndefined();
  }
});
