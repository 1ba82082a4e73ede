import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import sharp from 'sharp';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from '../http/server';

type Block = Anthropic.Beta.BetaToolUseBlock;
type Message = Anthropic.Beta.BetaMessageParam;

const speaker = new Speaker();
let endpoint: Endpoint;
let client: Anthropic;
let png: string;

beforeAll(async () => {
  const picture = sharp({ create: { width: 100, height: 60, channels: 3, background: 'red' } });
  png = (await picture.png().toBuffer()).toString('base64');
  endpoint = await openFor(speaker);
  client = new Anthropic({ baseURL: endpoint.url, maxRetries: 0, apiKey: KEY });
});
afterAll(() => endpoint.close());
beforeEach(() => {
  speaker.asked.length = 0;
});

const display = {
  name: 'computer' as const,
  display_width_px: 100,
  display_height_px: 60,
  display_number: 1,
};
const TOOLS = {
  computer_20250124: { type: 'computer_20250124' as const, ...display },
  computer_20251124: { type: 'computer_20251124' as const, ...display },
  computer_toolset_20260801: { type: 'computer_toolset_20260801' as const },
};
const GOAL: Message = { role: 'user', content: 'Open Settings' };

function send(tool: Anthropic.Beta.BetaToolUnion, messages: Message[], changes: object = {}) {
  const request = { model: 'claude-sonnet-4-6', max_tokens: 64, messages, tools: [tool], ...changes };
  return client.beta.messages.create({ ...request, stream: false, betas: ['computer-use-2025-11-24'] });
}

function seen({ id, toolset_name }: Block, ...texts: string[]): Anthropic.Beta.BetaToolResultBlockParam {
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: png };
  const content = [
    { type: 'image' as const, source },
    ...texts.map((text) => ({ type: 'text' as const, text })),
  ];
  return { type: 'tool_result', tool_use_id: id, content, ...(toolset_name ? { toolset_name } : {}) };
}

const blocksOf = ({ content }: Anthropic.Beta.BetaMessage) => content as Block[];
const after = (
  messages: Message[],
  answer: Anthropic.Beta.BetaMessage,
  ...results: string[][]
): Message[] => [
  ...messages,
  { role: 'assistant', content: answer.content as Anthropic.Beta.BetaContentBlockParam[] },
  { role: 'user', content: blocksOf(answer).map((block, index) => seen(block, ...(results[index] ?? []))) },
];
const messagesOfLast = () =>
  (speaker.asked.at(-1)!.prompt as { conversation: { messages: unknown[] } }).conversation.messages;

describe.each(Object.values(TOOLS))('$type', (tool) => {
  const isToolset = tool.type === 'computer_toolset_20260801';
  const call = (name: string, input: object) =>
    isToolset
      ? { type: 'tool_use', toolset_name: 'computer', name, input }
      : { type: 'tool_use', name: 'computer', input: { action: name, ...input } };

  it('is played from a conversation without a screenshot to an answer that finishes the task', async () => {
    const first = await send(tool, [GOAL], { system: 'Be quick.' });
    expect(first).toMatchObject({ stop_reason: 'tool_use', content: [call('screenshot', {})] });
    expect(first.usage).toMatchObject({ input_tokens: 0, output_tokens: 0 });
    expect(speaker.asked).toEqual([]);

    speaker.says = '{"action":"click","x":10,"y":20}';
    const shown = after([GOAL], first);
    const second = await send(tool, shown, { system: 'Be quick.' });
    expect(second).toMatchObject({
      stop_reason: 'tool_use',
      content: [call('left_click', { coordinate: [10, 20] })],
      usage: { input_tokens: 2 },
    });
    const clicked = after(shown, second, ['Current URL: http://shop.example/']);
    speaker.says = '{"action":"finish","success":true,"message":"done"}';
    const third = await send(tool, clicked, { system: 'Be quick.' });
    expect(third).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text', text: speaker.says }] });
    expect(messagesOfLast()).toMatchObject([
      { role: 'system', content: [{ text: expect.stringContaining('click') }, { text: 'Be quick.' }] },
      { role: 'user', content: [{ text: 'Open Settings' }, { type: 'image', image: 0 }] },
      { role: 'assistant', content: [{ text: '{"action":"click","x":10,"y":20}' }] },
      {
        role: 'user',
        content: [{ type: 'image', image: 1 }, { text: 'Current URL: http://shop.example/' }],
      },
    ]);
  });

  it('continues with the sampled text, or with the actions of calls that others made', async () => {
    const first = await send(tool, [GOAL]);
    const shown = after([GOAL], first);
    // The policy writes its keys in another order.
    speaker.says = '{"y":20,"x":10,"action":"click"}';
    const mine = await send(tool, shown);
    await send(tool, after(shown, mine));
    expect(messagesOfLast()).toMatchObject([{}, {}, { content: [{ text: speaker.says }] }, {}]);
    const theirs = { ...mine, content: blocksOf(mine).map((block) => ({ ...block, id: 'toolu_other' })) };
    await send(tool, after(shown, theirs));
    expect(messagesOfLast()).toMatchObject([
      {},
      {},
      { content: [{ text: '{"action":"click","x":10,"y":20}' }] },
      {},
    ]);
  });

  it('streams the call, and gives text where the tool has no such action', async () => {
    const shown = after([GOAL], await send(tool, [GOAL]));
    const streamed = () =>
      client.beta.messages
        .stream({ model: 'latest', max_tokens: 64, messages: shown, tools: [tool] })
        .finalMessage();
    speaker.says = '{"action":"type","text":"tea"}';
    expect(await streamed()).toMatchObject({
      stop_reason: 'tool_use',
      content: [call('type', { text: 'tea' })],
    });
    speaker.says = '{"action":"button","name":"home"}';
    expect(await streamed()).toMatchObject({ stop_reason: 'end_turn', content: [{ text: speaker.says }] });
    speaker.says = 'I cannot do that.';
    expect(await streamed()).toMatchObject({ stop_reason: 'end_turn', content: [{ text: speaker.says }] });
  });

  it('is not called with tool_choice none, and shows no screen after one that failed', async () => {
    speaker.says = '{"action":"click","x":10,"y":20}';
    const first = await send(tool, [GOAL]);
    const shown = after([GOAL], first);
    expect(await send(tool, shown, { tool_choice: { type: 'none' } })).toMatchObject({
      content: [{ type: 'text', text: speaker.says }],
    });
    expect(messagesOfLast()).toMatchObject([{ role: 'user' }]);
    const result = {
      type: 'tool_result',
      tool_use_id: blocksOf(first)[0].id,
      content: 'no display',
    } as const;
    const failed: Message[] = [...shown.slice(0, 2), { role: 'user', content: [result] }];
    expect((await send(tool, failed)).content).toMatchObject([{ type: 'text' }]);
    expect(messagesOfLast()).toMatchObject([
      { role: 'user', content: [{ text: 'Open Settings' }, { text: 'no display' }] },
    ]);
  });
});

it('several actions of an answer are several calls, of which only the first represents it', async () => {
  const tool = TOOLS.computer_20251124;
  const shown = after([GOAL], await send(tool, [GOAL]));
  // The speaker's format has one action for each answer, others have several.
  speaker.says = 'click(10, 20); type("tea")';
  const actions = [{ action: 'click', x: 10, y: 20 } as const, { action: 'type', text: 'tea' } as const];
  const read = jest.spyOn(speaker.computer, 'read').mockResolvedValue({ ok: true, actions: [...actions] });
  const both = await send(tool, shown);
  expect(blocksOf(both).map(({ input }) => input)).toEqual([
    { action: 'left_click', coordinate: [10, 20] },
    { action: 'type', text: 'tea' },
  ]);
  await send(tool, after(shown, both));
  expect(messagesOfLast()).toMatchObject([
    { role: 'system' },
    { role: 'user' },
    { role: 'assistant', content: [{ text: speaker.says }] },
    { role: 'user', content: [{ image: 1 }, { image: 2 }] },
  ]);
  const single = await send(tool, shown, {
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  });
  expect(single.content).toHaveLength(1);
  read.mockRestore();
});

it.each([
  [{ name: 'computer', input: { action: 'left_click', coordinate: [200, 20] } }, /messages\[3\].*input.*200/],
  [{ name: 'computer', input: { action: 'fly' } }, /messages\[3\].*input.*fly/],
  [{ name: 'computer', input: 'left_click' }, /messages\[3\].*input/],
])('refuses a call that cannot be read: %j', async (call, message) => {
  const tool = TOOLS.computer_20250124;
  const shown = after([GOAL], await send(tool, [GOAL]));
  const block = { type: 'tool_use' as const, id: 'toolu_other', ...call };
  const sent = send(tool, [...shown, { role: 'assistant', content: [block] }, GOAL]);
  await expect(sent).rejects.toMatchObject({ status: 400, message: expect.stringMatching(message) });
});

it('refuses a click before any screenshot', async () => {
  const block = {
    ...{ type: 'tool_use' as const, id: 'toolu_other', name: 'computer' },
    input: { action: 'left_click', coordinate: [1, 1] },
  };
  const sent = send(TOOLS.computer_20250124, [GOAL, { role: 'assistant', content: [block] }, GOAL]);
  await expect(sent).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('no screenshot'),
  });
});

it('OpenAI’s computer tools ask for the first screenshot, too', async () => {
  const openai = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
  const output = { type: 'computer_screenshot' as const, image_url: `data:image/png;base64,${png}` };
  const preview = {
    type: 'computer_use_preview' as const,
    ...{ display_width: 100, display_height: 60, environment: 'browser' as const },
  };
  for (const [tool, call] of [
    [{ type: 'computer' as const }, { actions: [{ type: 'screenshot' }] }],
    [preview, { action: { type: 'screenshot' } }],
  ] as const) {
    speaker.asked.length = 0;
    const asked = { model: 'latest', input: 'Open Settings', tools: [tool] };
    const first = await openai.responses.create(asked);
    expect(first).toMatchObject({ output: [call], usage: { total_tokens: 0 } });
    expect(speaker.asked).toEqual([]);
    speaker.says = '{"action":"click","x":10,"y":20}';
    const { call_id } = first.output[0] as OpenAI.Responses.ResponseComputerToolCall;
    await openai.responses.create({
      ...asked,
      input: [{ type: 'computer_call_output', call_id, output }],
      previous_response_id: first.id,
    });
    expect(messagesOfLast()).toMatchObject([
      { role: 'system' },
      { role: 'user', content: [{ text: 'Open Settings' }, { type: 'image', image: 0 }] },
    ]);
  }
});
