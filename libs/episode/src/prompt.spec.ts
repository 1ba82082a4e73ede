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
  historyScreenshots: Infinity,
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

  describe('of ten turns', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

    /** Each message of the prompt of turn `turn`: a user's as its text, behind `+` and the image if it shows one. */
    function shown(turn: number, historyScreenshots: number, historyTurns = Infinity): string[] {
      const { messages, images } = buildPrompt({
        ...input,
        style: 'full',
        goal: `text of ${names[turn - 1]}`,
        past: names.slice(0, turn - 1).map(past),
        screenshot: screen(names[turn - 1]),
        historyTurns,
        historyScreenshots,
      });
      const nameOf = (image: Uint8Array | string) =>
        typeof image === 'string' ? image : new TextDecoder().decode(image);
      expect(
        new Set(messages.flatMap(({ content }) => content.flatMap(({ image }) => image ?? []))).size,
      ).toBe(images.length);
      const textOf = (text: string) => text.replace(/^Task: (.*)\n[^]*/, '$1');
      return messages
        .slice(1)
        .map(({ content }) =>
          content
            .map(({ text, image }) => (text === undefined ? `+${nameOf(images[image!])} ` : textOf(text)))
            .join(''),
        );
    }

    /** The expected prompt: turns from `first` on without an image, then turns from `firstShown` on with theirs. */
    function expected(turn: number, firstShown: number, first = 1): string[] {
      return names.slice(first - 1, turn).flatMap((name, index) => {
        const isShown = first + index >= firstShown;
        const user = `${isShown ? `+${name} ` : '(screenshot omitted)\n'}text of ${name}`;
        return first + index === turn ? [user] : [user, `answer to ${name}`];
      });
    }

    it.each([
      [1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      [2, [1, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
      [5, [1, 1, 1, 1, 1, 2, 3, 4, 5, 6]],
      [Infinity, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
    ])('shows the newest %s screenshots and keeps all answers as text', (count, firstShown) => {
      firstShown.forEach((first, index) =>
        expect(shown(index + 1, count)).toEqual(expected(index + 1, first)),
      );
    });

    it('writes them out as the policy reads them', () => {
      expect(shown(3, 2)).toEqual([
        '(screenshot omitted)\ntext of a',
        'answer to a',
        '+b text of b',
        'answer to b',
        '+c text of c',
      ]);
    });

    it('still drops whole turns beyond the history', () => {
      expect(shown(10, 2, 4)).toEqual(expected(10, 9, 7));
    });

    it('has no placeholder for a turn that the policy read as text', () => {
      const { messages } = buildPrompt({
        ...input,
        style: 'full',
        past: [{ ...past('a'), screenshot: null }, past('b')],
        historyTurns: Infinity,
        historyScreenshots: 1,
      });
      expect(messages[1].content).toEqual([{ type: 'text', text: 'text of a' }]);
      expect(messages[3].content).toEqual([{ type: 'text', text: '(screenshot omitted)\ntext of b' }]);
    });

    it('in the compact style, has only the answers of turns without their screenshots, behind the goal', () => {
      const { messages, images, text } = buildPrompt({
        ...input,
        historyTurns: Infinity,
        historyScreenshots: 2,
      });
      expect(messages).toEqual([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'text of c' },
            { type: 'image', image: 0 },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'answer to c' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image', image: 1 },
          ],
        },
      ]);
      expect(text).toBe('Enable Wi-Fi\nanswer to a\nanswer to b');
      expect(images).toEqual(['c', screen('d').png]);
      const [cut] = buildPrompt({ ...input, historyTurns: 3, historyScreenshots: 1 }).messages;
      expect(cut.content[0].text).toBe('Enable Wi-Fi\nanswer to b\nanswer to c');
    });

    it('shows an unchanged screen as often as the newest turns do', () => {
      const same = [past('a'), past('d'), past('d')];
      const { messages, images } = buildPrompt({
        ...input,
        past: same,
        historyTurns: Infinity,
        historyScreenshots: 2,
      });
      expect(images).toEqual(['d']);
      expect(messages.filter(({ content }) => content.some(({ type }) => type === 'image'))).toHaveLength(2);
    });
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
