import { connect } from 'node:net';
import OpenAI from 'openai';
import sharp from 'sharp';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from './server';

const speaker = new Speaker();
let endpoint: Endpoint;
let client: OpenAI;
let screenshot: string;

beforeAll(async () => {
  const png = await sharp({ create: { width: 100, height: 60, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer();
  screenshot = `data:image/jpeg;base64,${png.toString('base64')}`;
  endpoint = await openFor(speaker);
  client = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterAll(() => endpoint.close());
beforeEach(() => {
  speaker.asked.length = 0;
  speaker.says = 'one two three';
  speaker.wait = Promise.resolve();
});

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const user = (content: string) => [{ role: 'user' as const, content }];
const weather = {
  name: 'get_weather',
  description: 'of a place',
  parameters: { type: 'object', properties: { place: { type: 'string' } } },
};
const CALL = 'Let me see. <tool_call>\n{"name": "get_weather", "arguments": {"place": "Bern"}}\n</tool_call>';

describe('/v1/chat/completions', () => {
  it('gives several answers with their seeds, and stops at stop sequences', async () => {
    const { choices, usage } = await client.chat.completions.create({
      model: 'latest',
      messages: user('hi'),
      n: 2,
      seed: 5,
      stop: ['wo'],
      logprobs: true,
    });
    expect(speaker.asked.map(({ seed }) => seed)).toEqual([5, 6]);
    expect(choices.map(({ message, finish_reason }) => [message.content, finish_reason])).toEqual([
      ['one t', 'stop'],
      ['one t', 'stop'],
    ]);
    expect(choices[0].logprobs?.content?.map(({ token, logprob }) => [token, logprob])).toEqual([
      ['one ', 0],
      ['two ', -1],
    ]);
    expect(usage).toEqual({ prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 });
  });

  it('stops at stop sequences in a stream, too', async () => {
    const chunks = await all(
      await client.chat.completions.create({
        model: 'latest',
        messages: user('hi'),
        stop: ['wo'],
        logprobs: true,
        stream: true,
      }),
    );
    const choices = chunks.map(({ choices: [choice] }) => choice);
    expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe('one t');
    expect(choices.at(-1)?.finish_reason).toBe('stop');
    expect(choices.flatMap(({ logprobs }) => logprobs?.content ?? []).map(({ token }) => token)).toEqual([
      'one ',
      'two ',
    ]);
  });

  it('streams tokens one by one, with usage where it is asked for', async () => {
    const chunks = await all(
      await client.chat.completions.create({
        model: 'latest',
        messages: user('hi'),
        max_tokens: 2,
        stream: true,
        stream_options: { include_usage: true },
        logprobs: true,
      }),
    );
    expect(chunks.map(({ choices: [choice] }) => choice?.delta.content)).toEqual([
      '',
      'one ',
      'two ',
      undefined,
      undefined,
    ]);
    expect(chunks[2].choices[0].logprobs?.content?.[0]).toMatchObject({
      token: 'two ',
      logprob: -1,
      bytes: [116, 119, 111, 32],
    });
    expect(chunks[3].choices[0].finish_reason).toBe('length');
    expect(chunks[4].usage).toMatchObject({ completion_tokens: 2 });
  });

  it('reads tool calls from the answer, as a whole and streamed', async () => {
    speaker.says = CALL;
    const asked = {
      model: 'latest',
      messages: user('weather?'),
      tools: [{ type: 'function' as const, function: weather }],
    };
    const { choices } = await client.chat.completions.create(asked);
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me see.',
        tool_calls: [{ function: { name: 'get_weather', arguments: '{"place":"Bern"}' } }],
      },
    });
    const [{ prompt }] = speaker.asked;
    expect(prompt).toMatchObject({ conversation: { tools: [{ type: 'function', function: weather }] } });
    const chunks = await all(await client.chat.completions.create({ ...asked, stream: true }));
    expect(chunks.flatMap(({ choices: [{ delta }] }) => delta.tool_calls ?? [])).toMatchObject([
      { index: 0, function: { name: 'get_weather' } },
    ]);
    expect(chunks.at(-1)?.choices[0].finish_reason).toBe('tool_calls');
    const called = choices[0].message;
    await client.chat.completions.create({
      ...asked,
      messages: [
        ...user('weather?'),
        called,
        { role: 'tool', tool_call_id: called.tool_calls![0].id, content: 'rain' },
      ],
    });
    expect(speaker.asked.at(-1)?.prompt).toMatchObject({
      conversation: {
        messages: [
          { role: 'user' },
          {
            role: 'assistant',
            tool_calls: [{ function: { name: 'get_weather', arguments: { place: 'Bern' } } }],
          },
          { role: 'tool', content: [{ type: 'text', text: 'rain' }] },
        ],
      },
    });
  });

  it.each([
    [{ top_logprobs: 3, logprobs: true }, 'top_logprobs'],
    [{ tool_choice: 'required', tools: [{ type: 'function', function: weather }] }, 'tool_choice'],
    [{ temperature: 9 }, 'temperature'],
    [{ frequency_penalty: 0.5 }, 'frequency_penalty'],
    [{ no_such_field: 1 }, 'no_such_field'],
    [{ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'messages[0].content[0].type'],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
          },
        ],
      },
      'messages[0].content[0].image_url.url',
    ],
    [{ messages: [] }, 'messages'],
  ])('refuses %j and names the field', async (changes, param) => {
    const body = {
      model: 'latest',
      messages: user('hi'),
      ...changes,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming;
    await expect(client.chat.completions.create(body)).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      param,
    });
    expect(speaker.asked).toEqual([]);
  });
});

describe('/v1/responses', () => {
  const look = () => [
    {
      role: 'user' as const,
      content: [
        { type: 'input_text' as const, text: 'Open Settings' },
        { type: 'input_image' as const, image_url: screenshot, detail: 'auto' as const },
      ],
    },
  ];

  it('streams OpenAI’s events, which add up to the response', async () => {
    const events = await all(
      await client.responses.create({
        model: 'latest',
        input: 'hi',
        stream: true,
        instructions: 'Be short.',
      }),
    );
    expect(events.map(({ type }) => type)).toEqual([
      ...[
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
      ],
      ...['response.output_text.delta', 'response.output_text.delta', 'response.output_text.delta'],
      ...[
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const last = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    const done = events.at(-2) as OpenAI.Responses.ResponseOutputItemDoneEvent;
    expect(last.response.output).toEqual([done.item]);
    expect(await client.responses.retrieve(last.response.id)).toMatchObject({ output: last.response.output });
    expect(speaker.asked[0].prompt).toMatchObject({
      conversation: { messages: [{ role: 'system', content: [{ text: 'Be short.' }] }, { role: 'user' }] },
    });
  });

  it('turns actions of the dialect into computer calls, and continues with the screenshot that follows', async () => {
    speaker.says = '{"action":"click","x":10,"y":20}';
    const tools = [{ type: 'computer' as const }];
    const first = await client.responses.create({ model: 'latest', input: look(), tools });
    const call = first.output[0] as OpenAI.Responses.ResponseComputerToolCall;
    expect(call).toMatchObject({
      type: 'computer_call',
      actions: [{ type: 'click', button: 'left', x: 10, y: 20 }],
      pending_safety_checks: [],
    });
    const output = { type: 'computer_screenshot' as const, image_url: screenshot };
    speaker.says = '{"action":"finish","success":true,"message":"done"}';
    const next = [{ type: 'computer_call_output' as const, call_id: call.call_id, output }];
    const second = await client.responses.create({
      model: 'latest',
      previous_response_id: first.id,
      input: next,
      tools,
    });
    expect(second.output[0].type).toBe('message');
    // The same conversation, with the history sent item by item.
    await client.responses.create({ model: 'latest', input: [...look(), call, ...next], tools });
    const [, went, told] = speaker.asked.map(({ prompt }) => prompt);
    expect(went).toEqual(told);
    expect(told).toMatchObject({
      conversation: {
        messages: [
          { role: 'system', content: [{ text: expect.stringContaining('click') }] },
          { role: 'user' },
          { role: 'assistant', content: [{ text: '{"action":"click","x":10,"y":20}' }] },
          { role: 'user', content: [{ type: 'image', image: 1 }] },
        ],
      },
    });
  });

  it('gives one call per action to callers of the older computer tool, who bring them back as one answer', async () => {
    const tools = [
      {
        type: 'computer_use_preview' as const,
        display_width: 100,
        display_height: 60,
        environment: 'browser' as const,
      },
    ];
    const answerTo = async (input: OpenAI.Responses.ResponseInput) =>
      (await client.responses.create({ model: 'latest', input, tools })).output;
    speaker.says = '{"action":"scroll","direction":"down","amount":3}';
    expect(await answerTo(look())).toMatchObject([
      { type: 'computer_call', action: { type: 'scroll', x: 50, y: 30, scroll_x: 0, scroll_y: 300 } },
    ]);
    speaker.says = '{"action":"triple_click","x":10,"y":20}';
    const calls = (await answerTo(look())) as OpenAI.Responses.ResponseComputerToolCall[];
    expect(calls.map(({ action }) => action?.type)).toEqual(['double_click', 'click']);
    const output = { type: 'computer_screenshot' as const, image_url: screenshot };
    const shown = calls.flatMap((call) => [
      call,
      { type: 'computer_call_output' as const, call_id: call.call_id, output },
    ]);
    await answerTo([...look(), ...shown]);
    expect(speaker.asked.at(-1)?.prompt).toMatchObject({
      conversation: {
        messages: [
          { role: 'system' },
          { role: 'user' },
          { role: 'assistant', content: [{ text: speaker.says }] },
          { role: 'user', content: [{ image: 1 }, { image: 2 }] },
        ],
      },
    });
  });

  // Stagehand 3.7 and OpenAI's sample agent send these, which the client's types do not know.
  it('reads the outputs of agents with the older computer tool: pictures with an address, and errors', async () => {
    speaker.says = '{"action":"click","x":10,"y":20}';
    const tools = [
      { type: 'computer-preview', display_width: 100, display_height: 60, environment: 'browser' },
    ];
    const send = async (input: unknown, previous_response_id?: string) =>
      client.responses.create({
        ...{ model: 'latest', previous_response_id, truncation: 'auto' },
        ...({ input, tools } as Pick<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'input' | 'tools'>),
      });
    const picture = { type: 'input_image', image_url: screenshot, current_url: 'http://shop.example/' };
    const outputs = [picture, { ...picture, error: 'no such key' }, 'Error: the page is closed'];
    let last = await send(look());
    for (const output of outputs) {
      const [call] = last.output as OpenAI.Responses.ResponseComputerToolCall[];
      last = await send([{ type: 'computer_call_output', call_id: call.call_id, output }], last.id);
    }
    const { prompt } = speaker.asked.at(-1)!;
    const { messages } = (prompt as { conversation: { messages: { role: string; content: unknown }[] } })
      .conversation;
    expect(messages.filter(({ role }) => role === 'user').slice(1)).toMatchObject([
      { content: [{ type: 'image', image: 1 }] },
      { content: [{ type: 'image', image: 2 }, { text: 'no such key' }] },
      { content: [{ text: 'Error: the page is closed' }] },
    ]);
  });

  it('calls functions, also in a stream', async () => {
    speaker.says = CALL;
    const asked = {
      model: 'latest',
      input: 'weather?',
      tools: [{ type: 'function' as const, strict: false, ...weather }],
    };
    const events = await all(await client.responses.create({ ...asked, stream: true }));
    const types = events.map(({ type }) => type);
    expect(types).toContain('response.function_call_arguments.done');
    const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(response.output).toMatchObject([
      { type: 'message' },
      { type: 'function_call', name: 'get_weather', arguments: '{"place":"Bern"}' },
    ]);
  });

  it('knows no response that was not stored, and says so', async () => {
    const { id } = await client.responses.create({ model: 'latest', input: 'hi', store: false });
    const next = { model: 'latest', input: 'on', previous_response_id: id };
    await expect(client.responses.create(next)).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });
});

describe('the endpoint', () => {
  it('asks for a key, finds a model by its name, and knows no other paths', async () => {
    const url = `${endpoint.url}/v1/models`;
    const keyless = await fetch(url);
    expect([keyless.status, keyless.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="ui-rl"']);
    expect(await keyless.json()).toEqual({
      error: {
        message: expect.any(String),
        type: 'authentication_error',
        code: 'missing_api_key',
        param: null,
      },
    });
    expect(await client.models.retrieve('latest')).toMatchObject({ id: 'latest', owned_by: 'run' });
    await expect(client.models.retrieve('none')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
    const nowhere = await fetch(`${endpoint.url}/v1/nothing`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect([nowhere.status, await nowhere.json()]).toMatchObject([
      404,
      { error: { type: 'not_found_error' } },
    ]);
  });

  it('answers to no name of another site', async () => {
    const { port } = new URL(endpoint.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          `GET /v1/models HTTP/1.1\r\nHost: rebound.example\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`,
        );
      });
      let text = '';
      socket
        .on('data', (data) => (text += String(data)))
        .on('end', () => resolve(text))
        .on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1.1 421 /);
  });

  it('keeps to its limits: bytes of a request, requests at a time', async () => {
    await expect(
      client.chat.completions.create({ model: 'latest', messages: user('x'.repeat(200_000)) }),
    ).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
    let go = (): void => undefined;
    speaker.wait = new Promise<void>((resolve) => (go = resolve));
    const ask = () => client.chat.completions.create({ model: 'latest', messages: user('hi') });
    const running = [ask(), ask()];
    while (endpoint.active < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(ask()).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    go();
    expect(await Promise.all(running)).toHaveLength(2);
    expect(endpoint.active).toBe(0);
  });

  it('hides the details of internal failures', async () => {
    const failed = client.chat.completions.create({ model: 'broken', messages: user('hi') });
    await expect(failed).rejects.toMatchObject({
      status: 500,
      code: 'internal_error',
      message: expect.not.stringContaining('secret'),
    });
    const notJson = await fetch(`${endpoint.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: '{"model":',
    });
    expect([notJson.status, await notJson.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error' } },
    ]);
  });
});
