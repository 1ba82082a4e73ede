import OpenAI from 'openai';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from './server';

const speaker = new Speaker();
let endpoint: Endpoint;
let client: OpenAI;

beforeAll(async () => {
  endpoint = await openFor(speaker);
  client = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterAll(() => endpoint.close());
beforeEach(() => {
  speaker.says = 'one two three';
});

const CALL = '<tool_call>{"name": "get_weather", "arguments": {"place": "Bern"}}</tool_call>';
const weather = {
  name: 'get_weather',
  description: 'of a place',
  parameters: { type: 'object', properties: { place: { type: 'string' } } },
};

/** Placeholder for a value that is too deep for `JSON.stringify`. */
const DEEP = 'in its place';
const LEVELS = 20_000;

async function post(path: string, body: object): Promise<{ status: number; param: unknown; error: unknown }> {
  const reply = await fetch(`${endpoint.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: 'latest', ...body }).replace(
      JSON.stringify(DEEP),
      `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`,
    ),
  });
  const { error } = (await reply.json()) as { error?: { param: unknown } };
  return { status: reply.status, param: error?.param ?? null, error };
}

const chat = (answer: object) => ({
  messages: [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b', ...answer },
    { role: 'user', content: 'c' },
  ],
});

describe('null counts as absent', () => {
  const CHAT =
    `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata min_p modalities
    moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort repetition_penalty response_format
    return_token_ids safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_k
    top_logprobs top_p user verbosity web_search_options made_up`.split(/\s+/);
  const COMPLETIONS =
    `best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty return_token_ids seed stop stream
    stream_options suffix temperature top_k top_p user made_up`.split(/\s+/);
  const RESPONSES =
    `background context_management conversation include instructions max_output_tokens max_tool_calls metadata
    parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store
    stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user made_up`.split(
      /\s+/,
    );
  const ALL: [string, object, string[]][] = [
    ['chat/completions', chat({}), CHAT],
    ['completions', { prompt: 'hi' }, COMPLETIONS],
    ['responses', { input: 'hi' }, RESPONSES],
    [
      'responses/compact',
      { input: 'hi' },
      ['instructions', 'previous_response_id', 'service_tier', 'prompt_cache_key', 'made_up'],
    ],
  ];

  it.each(ALL)('in every field of /v1/%s', async (path, body, names) => {
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    expect(await post(path, { ...body, ...nulls })).toMatchObject({ status: 200 });
    expect(await post(path, { ...body, ...nulls, made_up: 1 })).toMatchObject({
      status: 400,
      param: 'made_up',
    });
  });

  it.each([
    'reasoning_content',
    'provider_specific_fields',
    'parsed',
    'made_up',
    'name',
    'refusal',
    'tool_calls',
    'audio',
  ])('in %s of a message', async (name) => {
    expect(await post('chat/completions', chat({ [name]: null }))).toMatchObject({ status: 200 });
  });

  it('in the parts of a message, its calls, and tools', async () => {
    const part = { type: 'text', text: 'b', cache_control: null, annotations: null };
    const call = {
      id: 'a',
      type: 'function',
      index: null,
      function: { name: 'f', arguments: null, parsed_arguments: null },
    };
    const tool = {
      type: 'function',
      cache_control: null,
      function: { ...weather, strict: null, description: null },
    };
    const asked = {
      ...chat({ content: [part], tool_calls: [call] }),
      tools: [tool],
      stream_options: { include_usage: null },
    };
    expect(await post('chat/completions', asked)).toMatchObject({ status: 200 });
    const items = [
      {
        type: 'message',
        role: 'user',
        id: null,
        phase: null,
        content: [{ type: 'input_text', text: 'a', made_up: null }],
      },
      {
        type: 'function_call',
        call_id: 'a',
        name: 'f',
        arguments: null,
        async: null,
        caller: null,
        namespace: null,
      },
      { type: 'function_call_output', call_id: 'a', output: 'done', created_by: null },
    ];
    expect(await post('responses', { input: items })).toMatchObject({ status: 200 });
  });

  it('in values that change nothing', async () => {
    const nothing = {
      text: { format: { type: 'text' }, verbosity: null },
      reasoning: { effort: null, summary: null, generate_summary: null },
      stream_options: { include_obfuscation: null },
    };
    expect(await post('responses', { input: 'hi', ...nothing })).toMatchObject({ status: 200 });
    const refused = await post('responses', { input: 'hi', reasoning: { effort: 'low', summary: null } });
    expect(refused).toMatchObject({ status: 400, param: 'reasoning' });
  });
});

it.each([
  [{ made_up: 1 }, 'messages[1].made_up'],
  [{ reasoning_content: 'because' }, 'messages[1].reasoning_content'],
  [{ content: [{ type: 'text', text: 'b', made_up: false }] }, 'messages[1].content[0].made_up'],
  [{ tool_calls: [{ made_up: '', function: { name: 'f' } }] }, 'messages[1].tool_calls[0].made_up'],
])('refuses what a message has besides: %j', async (answer, param) => {
  expect(await post('chat/completions', chat(answer))).toMatchObject({ status: 400, param });
});

/**
 * The form in which the Python client's `model_dump()` writes messages and items, of an answer and of a stream's end.
 */
const DUMPED_CALL = { arguments: '{"place":"Bern"}', name: 'get_weather', parsed_arguments: null };
const DUMPED = {
  content: '',
  refusal: null,
  role: 'assistant',
  annotations: null,
  audio: null,
  function_call: null,
  tool_calls: [{ id: 'call_1', function: DUMPED_CALL, type: 'function', index: 0 }],
  parsed: null,
};

it('takes what the Python client writes down of answers and streams', async () => {
  const output = { role: 'tool', tool_call_id: 'call_1', content: 'rain' };
  expect(
    await post('chat/completions', { messages: [{ role: 'user', content: 'a' }, DUMPED, output] }),
  ).toMatchObject({
    status: 200,
  });
  const text = { annotations: [], text: 'b', type: 'output_text', logprobs: [], parsed: null };
  const input = [
    { role: 'user', content: 'a' },
    { id: 'msg_1', content: [text], role: 'assistant', status: 'completed', type: 'message', phase: null },
    {
      ...{ ...DUMPED_CALL, call_id: 'call_1', type: 'function_call', id: 'fc_1', status: 'completed' },
      ...{ async_: null, caller: null, namespace: null },
    },
    { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
  ];
  expect(await post('responses', { input })).toMatchObject({ status: 200 });
});

it('takes content parts with annotations, refusals and indices of calls', async () => {
  const content = [
    { type: 'text', text: 'b', annotations: [] },
    { type: 'refusal', refusal: 'no' },
  ];
  const tool_calls = [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: { a: 1 } } }];
  expect(await post('chat/completions', chat({ content, tool_calls, annotations: [] }))).toMatchObject({
    status: 200,
  });
  expect(speaker.asked.at(-1)?.prompt).toMatchObject({
    conversation: {
      messages: [
        {},
        {
          content: [{ text: 'b' }, { text: 'no' }],
          tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }],
        },
        {},
      ],
    },
  });
});

describe('the results of the client’s own accumulators can be sent back', () => {
  const tools = [{ type: 'function' as const, function: weather }];
  const asked = { model: 'latest', messages: [{ role: 'user' as const, content: 'weather?' }] };

  it.each(['one two three', CALL, `<think>${CALL}</think>${CALL}`])(
    'a message of a chat stream: %s',
    async (says) => {
      speaker.says = says;
      const message = await client.chat.completions.stream({ ...asked, tools }).finalMessage();
      expect(message.tool_calls ?? []).toHaveLength(says.includes(CALL) ? 1 : 0);
      const outputs = (message.tool_calls ?? []).map(({ id }) => ({
        role: 'tool' as const,
        tool_call_id: id,
        content: 'rain',
      }));
      const next = { ...asked, messages: [...asked.messages, message, ...outputs] };
      expect((await client.chat.completions.create(next)).choices).toHaveLength(1);
    },
  );

  it('the messages of a tool runner', async () => {
    speaker.says = CALL;
    const seen: string[] = [];
    const run = client.chat.completions.runTools(
      {
        ...asked,
        tools: [
          {
            type: 'function',
            function: {
              ...weather,
              parse: (json: string) => JSON.parse(json) as { place: string },
              function: ({ place }: { place: string }) => {
                seen.push(place);
                speaker.says = 'It rains.';
                return 'rain';
              },
            },
          },
        ],
      },
      { maxChatCompletions: 3 },
    );
    expect(await run.finalContent()).toBe('It rains.');
    expect(seen).toEqual(['Bern']);
  });

  it.each(['one two three', CALL])('the output of a response stream: %s', async (says) => {
    speaker.says = says;
    const functions = [{ type: 'function' as const, strict: false, ...weather }];
    const response = await client.responses
      .stream({ model: 'latest', input: 'hi', tools: functions })
      .finalResponse();
    const outputs = response.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'rain' }]
        : [],
    );
    const input = [...(response.output as OpenAI.Responses.ResponseInputItem[]), ...outputs];
    expect((await client.responses.create({ model: 'latest', input })).status).toBe('completed');
  });
});

it.each([
  ['', {}],
  [' ', {}],
  ['null', {}],
  [null, {}],
  ['{"a":1}', { a: 1 }],
])('shows the model the arguments %j of an earlier call as an object', async (given, shown) => {
  const calls = () => {
    const { prompt } = speaker.asked.at(-1)!;
    return prompt.kind === 'conversation'
      ? prompt.conversation.messages.flatMap(({ tool_calls: each }) => each ?? [])
      : [];
  };
  const expected = [{ type: 'function', function: { name: 'f', arguments: shown } }];
  await post(
    'chat/completions',
    chat({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: given } }] }),
  );
  expect(calls()).toEqual(expected);
  await post('responses', { input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: given }] });
  expect(calls()).toEqual(expected);
});

it.each([
  [
    'chat/completions',
    { ...chat({}), tools: [{ type: 'function', function: { ...weather, parameters: { deep: DEEP } } }] },
  ],
  ['chat/completions', chat({ tool_calls: [{ function: { name: 'f', arguments: { deep: DEEP } } }] })],
  ['completions', { prompt: 'hi', logit_bias: DEEP }],
  ['responses', { input: 'hi', tools: [{ type: 'function', name: 'f', parameters: { deep: DEEP } }] }],
  ['responses/compact', { input: [{ role: 'user', content: DEEP }] }],
])('%s refuses a body that is nested too deeply', async (path, body) => {
  expect(await post(path, body)).toMatchObject({
    status: 400,
    error: { message: expect.stringMatching(/^the body is nested deeper than 64 levels/) },
  });
});
