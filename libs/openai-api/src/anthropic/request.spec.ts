import sharp from 'sharp';
import { readChatRequest } from '../chat/request';
import { Speaker } from '../../test/speaker';
import { ResponseStore } from '../responses/store';
import { readCountRequest as readCount, readMessagesRequest as readMessages } from './request';

const ASKED = { model: 'latest', max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] };
const SCHEMA = { type: 'object', properties: { place: { type: 'string' } } };

const computing = { store: new ResponseStore(), policy: new Speaker() };
const readMessagesRequest = (body: unknown) => readMessages(body, computing);
const readCountRequest = (body: unknown) => readCount(body, computing);

let png: string;
let gif: string;

beforeAll(async () => {
  const picture = sharp({ create: { width: 8, height: 6, channels: 3, background: 'red' } });
  png = (await picture.png().toBuffer()).toString('base64');
  gif = (await picture.gif().toBuffer()).toString('base64');
});

const image = (data: string, media_type = 'image/png') => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
});
const imageUrl = (data: string, type = 'image/png') => ({
  type: 'image_url',
  image_url: { url: `data:${type};base64,${data}` },
});
const toolUse = (id: string, input: object) => ({ type: 'tool_use', id, name: 'look', input });
const toolCall = (input: object) => ({ type: 'function', function: { name: 'look', arguments: input } });

async function promptOf(changes: object) {
  return (await readMessagesRequest({ ...ASKED, ...changes })).policy.prompt;
}

async function chatPromptOf(messages: object[], tools: object[] = []) {
  return (await readChatRequest({ model: 'latest', messages, tools })).policy.prompt;
}

describe('a conversation is that of the same Chat Completions request', () => {
  it('with a system prompt as text or blocks, also between messages', async () => {
    const said = [
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Hurry.' },
      { role: 'assistant', content: [{ type: 'text', text: 'ho', citations: null }] },
      { role: 'user', content: [{ type: 'text', text: 'on', cache_control: { type: 'ephemeral' } }] },
    ];
    const blocks = [
      { type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be kind.' },
    ];
    const chat = said.map(({ role, content }) => ({
      role,
      content: typeof content === 'string' ? content : content.map(({ text }) => ({ type: 'text', text })),
    }));
    expect(await promptOf({ system: 'Be short.', messages: said })).toEqual(
      await chatPromptOf([{ role: 'system', content: 'Be short.' }, ...chat]),
    );
    const parts = blocks.map(({ text }) => ({ type: 'text', text }));
    expect(await promptOf({ system: blocks, messages: said })).toEqual(
      await chatPromptOf([{ role: 'system', content: parts }, ...chat]),
    );
  });

  it('with tools, calls, results with images, and what the user adds to them', async () => {
    const messages = [
      { role: 'user', content: [image(png), { type: 'text', text: 'Look twice.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { ...toolUse('a', { place: 'here' }), caller: { type: 'direct' } },
          toolUse('b', {}),
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [{ type: 'text', text: 'seen' }, image(gif, 'image/gif')],
          },
          { type: 'tool_result', tool_use_id: 'b', content: 'nothing', is_error: true },
          { type: 'text', text: 'And now?' },
        ],
      },
    ];
    const chat = [
      { role: 'user', content: [imageUrl(png), { type: 'text', text: 'Look twice.' }] },
      { role: 'assistant', content: 'I look.', tool_calls: [toolCall({ place: 'here' }), toolCall({})] },
      { role: 'tool', content: [{ type: 'text', text: 'seen' }, imageUrl(gif, 'image/gif')] },
      { role: 'tool', content: 'nothing' },
      { role: 'user', content: 'And now?' },
    ];
    const tools = [{ name: 'look', description: 'at a place', input_schema: SCHEMA, type: 'custom' }];
    const functions = [
      { type: 'function', function: { name: 'look', description: 'at a place', parameters: SCHEMA } },
    ];
    const prompt = await promptOf({ messages, tools });
    expect(prompt).toEqual(await chatPromptOf(chat, functions));
    expect(prompt).toMatchObject({ conversation: { images: { length: 2 }, tools: functions } });
    expect(await promptOf({ messages, tools, tool_choice: { type: 'none' } })).toEqual(
      await chatPromptOf(chat),
    );
  });

  it('whose consecutive messages of a role are one', async () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'user', content: [image(png)] },
      { role: 'assistant', content: 'b' },
      { role: 'assistant', content: [toolUse('c', {})] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] },
      { role: 'user', content: 'd' },
    ];
    expect(await promptOf({ messages })).toEqual(
      await chatPromptOf([
        { role: 'user', content: [{ type: 'text', text: 'a' }, imageUrl(png)] },
        { role: 'assistant', content: 'b', tool_calls: [toolCall({})] },
        { role: 'tool', content: [] },
        { role: 'user', content: 'd' },
      ]),
    );
  });
});

it('reads the options of sampling, and accepts what changes nothing', async () => {
  const neutral = {
    ...{ metadata: { user_id: 'me' }, service_tier: 'auto', cache_control: { type: 'ephemeral' } },
    ...{ thinking: { type: 'disabled' }, output_config: { effort: null }, container: null, top_k: null },
  };
  const wanted = { temperature: 0.5, top_p: 0.9, stop_sequences: ['a', 'b'], stream: true };
  const tools = [{ name: 'look', input_schema: SCHEMA, strict: false, eager_input_streaming: true }];
  const tool_choice = { type: 'auto', disable_parallel_tool_use: true };
  const read = await readMessagesRequest({ ...ASKED, ...neutral, ...wanted, tools, tool_choice });
  expect(read).toMatchObject({
    policy: { model: 'latest', maxTokens: 16, temperature: 0.5, topP: 0.9, stop: ['a', 'b'] },
    ...{ calls: true, mostCalls: 1, stream: true },
  });
  const thinking = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
  expect(await readMessagesRequest({ ...ASKED, ...thinking })).toMatchObject({ policy: { model: 'latest' } });
  expect(await readMessagesRequest(ASKED)).toMatchObject({
    calls: false,
    mostCalls: Infinity,
    stream: false,
  });
});

const user = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] });
const called = (...content: object[]) => ({
  messages: [
    { role: 'assistant', content: [toolUse('a', {})] },
    { role: 'user', content },
  ],
});
const source = (changes: object) => user({ type: 'image', source: changes });

it.each([
  [{ max_tokens: undefined }, 'max_tokens', /is missing/],
  [{ max_tokens: 0 }, 'max_tokens', /a whole number from 1/],
  [{ messages: undefined }, 'messages', /is missing/],
  [{ messages: [] }, 'messages', /holds no message/],
  [{ messages: Array(1_025).fill({ role: 'user', content: 'a' }) }, 'messages', /at most 1024/],
  [{ temperature: 1.5 }, 'temperature', /from 0 to 1/],
  [{ top_k: 5 }, 'top_k', /not supported/],
  [{ stop_sequences: [''] }, 'stop_sequences', /none of them empty/],
  [{ stop_sequences: Array(17).fill('a') }, 'stop_sequences', /at most 16/],
  [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'thinking', /not supported/],
  [{ output_config: { format: { type: 'json_schema' } } }, 'output_config', /not supported/],
  [{ mcp_servers: [{}] }, 'mcp_servers', /not supported/],
  [{ container: 'a' }, 'container', /not supported/],
  [{ made_up: 1 }, 'made_up', /not known/],
  [{ tool_choice: { type: 'any' } }, 'tool_choice.type', /"auto" and "none"/],
  [{ tool_choice: { type: 'tool', name: 'a' } }, 'tool_choice.type', /"auto" and "none"/],
  [
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    'tools[0].type',
    /"web_search_20250305"/,
  ],
  [
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    'tools[0].type',
    /"bash_20250124".*computer_20251124/,
  ],
  [{ tools: [{ type: 'computer_20251124', name: 'mouse' }] }, 'tools[0].name', /"computer"/],
  [{ tools: [{ name: 'a' }] }, 'tools[0].input_schema', /is missing/],
  [{ tools: [{ name: 'a', input_schema: 1 }] }, 'tools[0].input_schema', /a JSON schema/],
  [{ tools: [{ name: 'a', input_schema: {}, strict: true }] }, 'tools[0].strict', /held to a schema/],
  [
    { tools: [{ name: 'a', input_schema: {}, defer_loading: true }] },
    'tools[0].defer_loading',
    /not supported/,
  ],
  [{ system: [{ type: 'image' }] }, 'system[0].type', /"image"/],
  [{ messages: [{ role: 'tool', content: 'a' }] }, 'messages[0].role', /user, assistant or system/],
  [{ messages: [{ role: 'user' }] }, 'messages[0].content', /is missing/],
  [{ messages: [{ role: 'assistant', content: 'It is (' }] }, 'messages', /end with a message of the user/],
  [user(), 'messages[0].content', /is empty/],
  [user('a'), 'messages[0].content[0]', /an object/],
  [user({ type: 'document', source: {} }), 'messages[0].content[0].type', /"document"/],
  [user({ type: 'thinking' }), 'messages[0].content[0].type', /"thinking"/],
  [user({ type: 'text' }), 'messages[0].content[0].text', /is missing/],
  [user({ type: 'text', text: 'a', citations: [{}] }), 'messages[0].content[0].citations', /not supported/],
  [source({ type: 'url', url: 'http://a/b.png' }), 'messages[0].content[0].source.type', /not fetched/],
  [source({ type: 'file', file_id: 'a' }), 'messages[0].content[0].source.type', /not fetched/],
  [
    source({ type: 'base64', media_type: 'image/svg+xml', data: 'PHN2Zz4=' }),
    'messages[0].content[0].source.media_type',
    /image\/webp/,
  ],
  [
    source({ type: 'base64', media_type: 'image/png', data: 'PHN2Zz4=' }),
    'messages[0].content[0].source.data',
    /not a PNG/,
  ],
  [
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: 'c' }] }] },
    'messages[0].content[0].input',
    /an object/,
  ],
  [
    { messages: [{ role: 'assistant', content: [image('')] }] },
    'messages[0].content[0].type',
    /text or tool_use/,
  ],
  [
    called({ type: 'tool_result', tool_use_id: 'b' }),
    'messages[1].content[0].tool_use_id',
    /no tool_use with the id "b"/,
  ],
  [
    called({ type: 'tool_result', tool_use_id: 'a', toolset_name: 'computer' }),
    'messages[1].content[0].toolset_name',
    /not supported/,
  ],
  [
    called({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'search_result' }] }),
    'messages[1].content[0].content[0].type',
    /"search_result"/,
  ],
])('refuses by name: %j', async (changes, param, message) => {
  await expect(readMessagesRequest({ ...ASKED, ...changes })).rejects.toMatchObject({
    status: 400,
    param,
    message: expect.stringMatching(message),
  });
});

it('bounds messages together with results of tools', async () => {
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'b' };
  const [first, results] = called(...Array.from({ length: 512 }, () => result)).messages;
  expect(await promptOf({ messages: [first, results] })).toMatchObject({
    conversation: { messages: { length: 513 } },
  });
  await expect(promptOf({ messages: [first, results, first, results] })).rejects.toMatchObject({
    param: 'messages',
    message: expect.stringMatching(/more than 1024/),
  });
});

it('reads a request to count tokens, which has no options of sampling', async () => {
  const { max_tokens, ...asked } = ASKED;
  expect(await readCountRequest({ ...asked, thinking: null })).toEqual({
    model: 'latest',
    prompt: await promptOf({}),
  });
  await expect(readCountRequest({ ...asked, max_tokens })).rejects.toMatchObject({ param: 'max_tokens' });
});
