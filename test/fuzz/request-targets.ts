import { ApiError } from '@ui-rl/openai-api';
import { readCountRequest, readMessagesRequest } from '../../libs/openai-api/src/anthropic/request';
import { readChatRequest } from '../../libs/openai-api/src/chat/request';
import { readResponseRequest } from '../../libs/openai-api/src/responses/request';
import { Seal } from '../../libs/openai-api/src/responses/seal';
import { ResponseStore } from '../../libs/openai-api/src/responses/store';
import { Speaker } from '../../libs/openai-api/test/speaker';
import type { Mutator } from './mutate';
import type { Target } from './target';

/** A PNG of one pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE_URL = `data:image/png;base64,${PNG}`;
const SCHEMA = { type: 'object', properties: { place: { type: 'string' } } };

const CHAT = {
  ...{ model: 'latest', max_completion_tokens: 8, temperature: 0.5, top_p: 0.9, stop: ['a'], stream: true },
  tools: [{ type: 'function', function: { name: 'look', description: 'at a place', parameters: SCHEMA } }],
  messages: [
    { role: 'system', content: 'Be short.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"place":"here"}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
  ],
};

const RESPONSES = {
  ...{ model: 'latest', instructions: 'Be short.', max_output_tokens: 8, temperature: 0.5, store: false },
  tools: [{ type: 'computer' }, { type: 'function', name: 'look', parameters: SCHEMA }],
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'hi' },
        { type: 'input_image', image_url: IMAGE_URL },
      ],
    },
    { type: 'computer_call', call_id: 'c', actions: [{ type: 'click', button: 'left', x: 0, y: 0 }] },
    {
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: IMAGE_URL },
    },
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"place":"here"}' },
    { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_image', image_url: IMAGE_URL }] },
  ],
};

const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
const PROMPT = {
  model: 'latest',
  system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
  tools: [{ name: 'look', description: 'at a place', input_schema: SCHEMA }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  messages: [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'a', name: 'look', input: { place: 'here' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'seen' }, IMAGE] },
        { type: 'text', text: 'And now?' },
      ],
    },
  ],
};
const MESSAGES = {
  ...PROMPT,
  ...{ max_tokens: 8, temperature: 0.5, top_p: 0.9, stop_sequences: ['a'], stream: true },
};

const OPERATED = {
  ...{ model: 'latest', max_tokens: 8 },
  tools: [{ type: 'computer_20250124', display_width_px: 100, display_height_px: 60 }],
  messages: [
    { role: 'user', content: [IMAGE] },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'b', name: 'computer', input: { action: 'left_click', coordinate: [0, 0] } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b', content: 'seen' }] },
  ],
};

function target(name: string, sample: object, read: (body: unknown) => Promise<unknown>): Target {
  return {
    name: `http/${name}`,
    input: (mutator: Mutator) => Buffer.from(JSON.stringify(mutator.value([sample])) ?? 'null'),
    feed: async (input) => {
      await read(JSON.parse(Buffer.from(input).toString('utf8')));
      return true;
    },
    isRefusal: (error) => error instanceof ApiError && error.status === 400,
  };
}

const known = {
  policy: new Speaker(),
  store: new ResponseStore(),
  seal: new Seal(() => 'a-secret-for-tests'),
};

/** Requests of outside callers. The body parser has read their JSON. */
export const requestTargets: readonly Target[] = [
  target('chat', CHAT, readChatRequest),
  target('responses', RESPONSES, (body) => readResponseRequest(body, known)),
  target('anthropic', MESSAGES, (body) => readMessagesRequest(body, known)),
  target('anthropic_computer', OPERATED, (body) => readMessagesRequest(body, known)),
  target('anthropic_count', PROMPT, (body) => readCountRequest(body, known)),
];
