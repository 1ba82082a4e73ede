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

  describe('of a screen as text', () => {
    const text = 'page "Settings"\n button "Wi-Fi" (3,4)';
    const both: Screenshot = Object.assign(screen('d'), { text });
    const alone: Screenshot = Object.assign(screen('d'), { text, textOnly: true });

    it('has the text beside the picture, or alone and then no picture', () => {
      const shown = buildPrompt({ ...input, screenshot: both, historyTurns: 1 });
      expect(shown.messages[0].content).toEqual([
        { type: 'text', text: `Enable Wi-Fi\n${both.text}` },
        { type: 'image', image: 0 },
      ]);
      const told = buildPrompt({ ...input, screenshot: alone, historyTurns: 1 });
      expect(told.messages[0].content).toEqual([{ type: 'text', text: `Enable Wi-Fi\n${both.text}` }]);
      expect(told.images).toEqual([]);
    });

    it('keeps the texts of earlier turns as they were read, so that a prompt continues the one before', () => {
      const textPast = [past('a'), past('b')].map((turn) => ({ ...turn, screenshot: null }));
      const { messages, images } = buildPrompt({
        ...input,
        past: textPast,
        screenshot: alone,
        historyTurns: 2,
      });
      expect(images).toEqual([]);
      expect(messages.map(({ content }) => content)).toEqual([
        [{ type: 'text', text: 'text of b' }],
        [{ type: 'text', text: 'answer to b' }],
        [{ type: 'text', text: expect.stringContaining(both.text!) }],
      ]);
    });

    it('says in the full style what the text is, and whose pixels its places are', () => {
      const { messages } = buildPrompt({ ...input, style: 'full', screenshot: alone, historyTurns: 1 });
      expect(messages[1].content).toHaveLength(1);
      expect(messages[1].content[0].text).toMatch(
        /Enable Wi-Fi\nThe screen as text, 1 by 1 pixels, .*:\npage "Settings"\n button "Wi-Fi" \(3,4\)\nTurn 4\/8\. Analyze the screen and/,
      );
      const { messages: shown } = buildPrompt({ ...input, style: 'full', screenshot: both, historyTurns: 1 });
      expect(shown[1].content[1].text).toContain('Analyze the screenshot and its text and');
    });
  });
});
