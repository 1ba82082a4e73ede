import { join } from 'node:path';
import { loadPromptFolder, makeRenderer, type ChatMessage } from '@ui-rl/models';
import { conversationOf, episodeOf } from './conversation';

const folder = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');

it('a conversation names its images by hash, in the order in which messages show them', async () => {
  const renderer = makeRenderer(await loadPromptFolder(folder));
  const call = { function: { name: 'click', arguments: { x: 1 } } };
  const messages: ChatMessage[] = [
    {
      role: 'user',
      content: [
        { type: 'image', image: 1 },
        { type: 'text', text: 'Go' },
      ],
    },
    { role: 'assistant', content: 'yes', tool_calls: [call] },
    { role: 'user', content: [{ type: 'image', image: 0 }] },
  ];
  const shown = { images: [{ sha256: 'second' }, { sha256: 'first' }] };
  expect(conversationOf(renderer, { messages, images: ['first', 'second'], tools: [] }, shown)).toEqual({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', sha256: 'second' },
          { type: 'text', text: 'Go' },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'yes' }],
        toolCalls: [{ name: 'click', arguments: '{"x":1}' }],
      },
      { role: 'user', content: [{ type: 'image', sha256: 'first' }] },
    ],
  });
});

it('requests of an episode differ by what follows the last slash', () => {
  expect(['g1-r0/0', 'g1-r0/12', 'alone'].map(episodeOf)).toEqual(['g1-r0', 'g1-r0', 'alone']);
});
