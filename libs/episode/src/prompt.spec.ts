import type { Screenshot } from '@ui-rl/contracts';
import { buildPrompt, type PastTurn } from './prompt';

function screen(name: string): Screenshot {
  return { png: new TextEncoder().encode(name), sha256: name, width: 1, height: 1 };
}

function past(name: string): PastTurn {
  return { screenshot: name, text: `text of ${name}`, answer: `answer to ${name}` };
}

const input = {
  style: 'compact' as const,
  describeActions: () => 'ACTIONS',
  goal: 'Enable Wi-Fi',
  past: [past('a'), past('b'), past('c')],
  screenshot: screen('d'),
  maxTurns: 8,
};

describe('buildPrompt', () => {
  it('holds only the present turn where the history is one turn', () => {
    const prompt = buildPrompt({ ...input, historyTurns: 1 });
    expect(prompt.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Enable Wi-Fi' },
          { type: 'image', image: 0 },
        ],
      },
    ]);
    expect(prompt.images).toEqual([screen('d').png]);
  });

  it('drops older turns whole and keeps text and image of the others together', () => {
    const { messages, images } = buildPrompt({ ...input, historyTurns: 3 });
    expect(messages.map((message) => message.content[0].text)).toEqual([
      'text of b',
      'answer to b',
      'text of c',
      'answer to c',
      'Enable Wi-Fi',
    ]);
    expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content[1].image)).toEqual([
      0, 1, 2,
    ]);
    expect(images).toEqual(['b', 'c', screen('d').png]);
  });

  it('sends a screen that did not change once', () => {
    const { messages, images } = buildPrompt({ ...input, screenshot: screen('c'), historyTurns: 2 });
    expect(images).toEqual(['c']);
    expect(messages[0].content[1].image).toBe(0);
    expect(messages[2].content[1].image).toBe(0);
  });

  it('shows the screenshot first, explains the actions and counts the turns in the full style, and passes a correction on', () => {
    const { messages } = buildPrompt({
      ...input,
      style: 'full',
      historyTurns: 1,
      correction: 'No such action.',
    });
    expect(messages[0]).toEqual({
      role: 'system',
      content: [{ type: 'text', text: expect.stringContaining('ACTIONS') }],
    });
    expect(messages[1].content[0]).toEqual({ type: 'image', image: 0 });
    expect(messages[1].content[1].text).toMatch(/No such action\.[^]*Enable Wi-Fi[^]*4\/8/);
  });
});
