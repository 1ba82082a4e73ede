import Anthropic, { APIError } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import sharp from 'sharp';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from './server';

const speaker = new Speaker();
let endpoint: Endpoint;
let client: Anthropic;
let screenshot: string;

beforeAll(async () => {
  const picture = sharp({ create: { width: 100, height: 60, channels: 3, background: 'red' } });
  screenshot = (await picture.png().toBuffer()).toString('base64');
  endpoint = await openFor(speaker);
  client = clientWith({ apiKey: KEY });
});
afterAll(() => endpoint.close());
beforeEach(() => {
  speaker.asked.length = 0;
  speaker.says = 'one two three';
  speaker.wait = speaker.pause = Promise.resolve();
});

function clientWith(credential: { apiKey?: string; authToken?: string }): Anthropic {
  return new Anthropic({ baseURL: endpoint.url, maxRetries: 0, ...credential });
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const event of events) found.push(event);
  return found;
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${endpoint.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const asked = {
  model: 'latest',
  max_tokens: 64,
  messages: [{ role: 'user' as const, content: 'hi' }],
};
const look = {
  name: 'look',
  description: 'at a place',
  input_schema: { type: 'object' as const, properties: { place: { type: 'string' } } },
};
const CALL = 'I look. <tool_call>\n{"name": "look", "arguments": {"place": "here"}}\n</tool_call>';
const USAGE = {
  input_tokens: 2,
  output_tokens: 3,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens_details: null,
  server_tool_use: null,
};
const MESSAGE = {
  id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
  type: 'message',
  role: 'assistant',
  model: 'uirl://run/sampler_weights/000003',
  content: [{ type: 'text', text: 'one two three', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: { ...USAGE, cache_creation: null, inference_geo: null, service_tier: null, speed: null },
};

it('answers a message, whose end it explains', async () => {
  expect(await client.messages.create({ ...asked, system: 'Be short.' })).toEqual(MESSAGE);
  expect(speaker.asked[0]).toMatchObject({
    maxTokens: 64,
    prompt: { conversation: { messages: [{ role: 'system' }, { role: 'user' }] } },
  });
  expect(await client.messages.create({ ...asked, max_tokens: 2 })).toMatchObject({
    content: [{ text: 'one two ' }],
    stop_reason: 'max_tokens',
    usage: { output_tokens: 2 },
  });
  const stopped = await client.messages.create({ ...asked, stop_sequences: ['four', 'wo'] });
  expect(stopped).toMatchObject({
    content: [{ text: 'one t' }],
    stop_reason: 'stop_sequence',
    stop_sequence: 'wo',
  });
  speaker.says = '';
  expect((await client.messages.create(asked)).content).toEqual([
    { type: 'text', text: '', citations: null },
  ]);
});

it('streams tokens one by one, in the order of Anthropic’s events', async () => {
  const text = await (await post('messages', { ...asked, stream: true }, { 'x-api-key': KEY })).text();
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => /^event: (.*)\ndata: (.*)$/.exec(event)!.slice(1))
    .map(([name, data]) => [name, JSON.parse(data)] as const);
  const begun = { ...MESSAGE, content: [], stop_reason: null, usage: { ...MESSAGE.usage, output_tokens: 0 } };
  const delta = (part: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: part },
  });
  const expected = [
    { type: 'message_start', message: begun },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: null } },
    ...['one ', 'two ', 'three'].map(delta),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
      usage: USAGE,
    },
    { type: 'message_stop' },
  ];
  expect(events).toEqual(expected.map((event) => [event.type, event]));
});

it.each([
  ['one two three', {}],
  ['', {}],
  ['one two three', { stop_sequences: ['wo'] }],
  ['one two three', { max_tokens: 2 }],
  ['one two three', { tools: [look] }],
  [CALL, { tools: [look] }],
  [`${CALL} ${CALL}`, { tools: [look] }],
  [`<think>${CALL}</think>${CALL}`, { tools: [look] }],
])('streams what it answers at once, which can be sent back: %j with %j', async (says, changes) => {
  speaker.says = says;
  const whole = await client.messages.create({ ...asked, ...changes });
  const { content, ...rest } = await client.messages.stream({ ...asked, ...changes }).finalMessage();
  const withoutIds = (blocks: Anthropic.ContentBlock[]) =>
    blocks.map((block) => (block.type === 'tool_use' ? { ...block, id: '' } : block));
  expect(withoutIds(content)).toEqual(withoutIds(whole.content));
  expect({ ...whole, ...rest }).toEqual({ ...whole, id: rest.id, parsed_output: null });
  const results = content.flatMap((block): Anthropic.ToolResultBlockParam[] =>
    block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: 'seen' }] : [],
  );
  const messages: Anthropic.MessageParam[] = [
    ...asked.messages,
    { role: 'assistant', content: content as Anthropic.ContentBlockParam[] },
    { role: 'user', content: [...results, { type: 'text', text: 'And now?' }] },
  ];
  expect((await client.messages.create({ ...asked, ...changes, messages })).type).toBe('message');
});

it('withholds a possible call, and streams its input as JSON', async () => {
  speaker.says = CALL;
  const events = await all(await client.messages.create({ ...asked, tools: [look], stream: true }));
  const [text, json] = events.flatMap((event) => (event.type === 'content_block_delta' ? [event] : []));
  expect(text).toMatchObject({ index: 0, delta: { type: 'text_delta', text: 'I look.' } });
  expect(json).toMatchObject({
    index: 1,
    delta: { type: 'input_json_delta', partial_json: '{"place":"here"}' },
  });
});

it('takes the result of a tool with an image, and shows the model what Chat Completions shows it', async () => {
  speaker.says = CALL;
  const first = await client.messages.create({ ...asked, tools: [look] });
  expect(first).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ text: 'I look.' }, { type: 'tool_use' }],
  });
  const call = first.content[1] as Anthropic.ToolUseBlock;
  expect(call).toEqual({
    type: 'tool_use',
    id: expect.stringMatching(/^toolu_/),
    name: 'look',
    input: { place: 'here' },
    caller: { type: 'direct' },
  });
  speaker.says = 'A red screen.';
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: screenshot };
  const result: Anthropic.ToolResultBlockParam = {
    type: 'tool_result',
    tool_use_id: call.id,
    content: [
      { type: 'text', text: 'seen' },
      { type: 'image', source },
    ],
  };
  const messages: Anthropic.MessageParam[] = [
    ...asked.messages,
    { role: 'assistant', content: first.content as Anthropic.ContentBlockParam[] },
    { role: 'user', content: [result] },
  ];
  const second = await client.messages.create({ ...asked, messages, tools: [look] });
  expect(second).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'A red screen.' }] });
  const chat = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
  const { input_schema: parameters, ...named } = look;
  await chat.chat.completions.create({
    model: 'latest',
    tools: [{ type: 'function', function: { ...named, parameters } }],
    messages: [
      ...asked.messages,
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'look', arguments: JSON.stringify(call.input) } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'seen' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${screenshot}` } },
        ] as OpenAI.ChatCompletionContentPartText[],
      },
    ],
  });
  const [, inMessages, inChat] = speaker.asked.map(({ prompt }) => prompt);
  expect(inMessages).toEqual(inChat);
  expect(inMessages).toMatchObject({ conversation: { images: { length: 1 } } });
});

it('counts the tokens of a prompt', async () => {
  const { max_tokens: _, ...prompt } = asked;
  const { usage } = await client.messages.create({ ...asked, tools: [look] });
  expect(await client.messages.countTokens({ ...prompt, tools: [look] })).toEqual({
    input_tokens: usage.input_tokens,
  });
});

it('takes the key as x-api-key or as Bearer, and any version', async () => {
  const version = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'any-2026-01-01' };
  expect((await post('messages', asked, { 'x-api-key': KEY, ...version })).status).toBe(200);
  expect((await clientWith({ authToken: KEY }).messages.create(asked)).stop_reason).toBe('end_turn');
  const both = { 'x-api-key': KEY, authorization: 'Bearer another-key-than-this' };
  expect((await post('messages?beta=true', asked, both)).status).toBe(200);
  expect((await post('messages', asked)).status).toBe(401);
  await expect(clientWith({ apiKey: 'another-key-than-this' }).messages.create(asked)).rejects.toMatchObject({
    status: 401,
    type: 'authentication_error',
    errorCode: 'invalid_api_key',
  });
});

describe('errors in Anthropic’s form', () => {
  const failed = (changes: object): Promise<unknown> =>
    client.messages.create({ ...asked, ...changes }).then(
      () => undefined,
      (error: unknown) => error,
    );

  it('of a field', async () => {
    const response = await post('messages', { ...asked, top_k: 4 }, { 'x-api-key': KEY });
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'top_k: is not supported here',
          details: { error_code: 'unsupported_parameter' },
        },
        request_id: null,
      },
    ]);
  });

  it.each([
    ['a body that is too long', 413, 'request_too_large', { system: 'x'.repeat(200_000) }],
    ['an internal failure', 500, 'api_error', { model: 'broken' }],
    ['an internal failure before a stream', 500, 'api_error', { model: 'broken', stream: true }],
  ])('of %s', async (_, status, type, changes) => {
    const error = await failed(changes);
    expect(error).toMatchObject({ status, type });
    expect((error as Error).message).not.toContain('secret');
  });

  it('of an invalid body, and of paths that do not exist', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': KEY };
    const of = (path: string, body: string) =>
      fetch(`${endpoint.url}/v1/${path}`, { method: 'POST', headers, body });
    const noJson = await of('messages', '{"model":');
    expect([noJson.status, await noJson.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error' } },
    ]);
    const batches = await of('messages/batches', '{}');
    expect([batches.status, await batches.json()]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' } },
    ]);
    // Other paths keep OpenAI's form.
    expect(await (await of('nothing', '{}')).json()).not.toHaveProperty('type');
  });

  it('of too many requests', async () => {
    let go = (): void => undefined;
    speaker.wait = new Promise<void>((resolve) => (go = resolve));
    const running = [client.messages.create(asked), client.messages.create(asked)];
    while (speaker.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await failed({})).toMatchObject({ status: 429, type: 'rate_limit_error' });
    go();
    expect(await Promise.all(running)).toHaveLength(2);
  });

  it('in a stream that has begun', async () => {
    let fail = (_error: Error): void => undefined;
    speaker.pause = new Promise((_, reject) => (fail = reject));
    const seen: string[] = [];
    const stream = await client.messages.create({ ...asked, stream: true });
    const error = await (async () => {
      for await (const { type } of stream) {
        seen.push(type);
        if (type === 'content_block_delta') fail(new Error('a secret that only the log may hold'));
      }
    })().catch((thrown: unknown) => thrown);
    expect(seen[0]).toBe('message_start');
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ type: 'api_error' });
    expect((error as Error).message).not.toContain('secret');
  });
});
