import {
  type PromptStyle,
  type ScreenAsText,
  systemText,
  turnContent,
  turnText,
  turnTextWithoutScreenshot,
} from '@ui-rl/actions';
import type { ChatMessage, Screenshot } from '@ui-rl/contracts';

/** The policy's input and output in a finished turn. */
export interface PastTurn {
  /** sha256; null if the policy read only the screen's text. */
  screenshot: string | null;
  /** Text of the user's message besides the screenshot. */
  text: string;
  answer: string;
}

export interface PromptInput {
  style: PromptStyle;
  describeActions: () => string;
  goal: string;
  /** All finished turns. */
  past: readonly PastTurn[];
  screenshot: Screenshot;
  maxTurns: number;
  /** Number of turns in the prompt, including the current one. */
  historyTurns: number;
  /** Number of turns in the prompt that show their screenshot: the newest ones, including the current one. */
  historyScreenshots: number;
  /** The fault of the last answer. */
  correction?: string;
}

export interface Prompt {
  messages: ChatMessage[];
  /** The new screenshot as PNG bytes, earlier ones by their hashes; the messages refer to them by index. */
  images: (Uint8Array | string)[];
  /** Text of the current turn besides the screenshot. */
  text: string;
}

/**
 * Builds the conversation of a turn. Drops turns beyond `historyTurns` as a whole, with text and image. Of the others,
 * those beyond `historyScreenshots` keep their text and answer, and a placeholder takes the place of the image. In the
 * compact style only the answer is kept, behind the goal of the current turn.
 */
export function buildPrompt(input: PromptInput): Prompt {
  const isCompact = input.style === 'compact';
  const kept = newest(input.past, input.historyTurns - 1);
  const shown = new Set(newest(kept, input.historyScreenshots - 1));
  const losesImage = (turn: PastTurn) => turn.screenshot !== null && !shown.has(turn);
  const text = turnText(input.style, {
    goal: input.goal,
    turn: input.past.length + 1,
    maxTurns: input.maxTurns,
    correction: input.correction,
    screen: screenOf(input.screenshot),
    earlier: isCompact ? kept.filter(losesImage).map(({ answer }) => answer) : [],
  });
  const images: (Uint8Array | string)[] = [];
  const indexes = new Map<string, number>();
  const user = (sha256: string | null, words: string, png?: Uint8Array): ChatMessage => {
    if (sha256 === null) return textMessage('user', words);
    const image = indexes.get(sha256) ?? images.push(png ?? sha256) - 1;
    indexes.set(sha256, image);
    return {
      role: 'user',
      content: turnContent<ChatMessage['content'][number]>(
        input.style,
        { type: 'text', text: words },
        { type: 'image', image },
      ),
    };
  };
  const system = systemText(input.style, input.describeActions);
  const messages: ChatMessage[] = [
    ...(system === null ? [] : [textMessage('system', system)]),
    ...(isCompact ? kept.filter((turn) => !losesImage(turn)) : kept).flatMap((turn) => [
      losesImage(turn)
        ? textMessage('user', turnTextWithoutScreenshot(turn.text))
        : user(turn.screenshot, turn.text),
      textMessage('assistant', turn.answer),
    ]),
    user(shownImage(input.screenshot), text, input.screenshot.png),
  ];
  return { messages, images, text };
}

/** The sha256 of the screenshot if the policy sees it as an image, or null. */
export function shownImage({ sha256, textOnly }: Screenshot): string | null {
  return textOnly === true ? null : sha256;
}

function newest<T>(items: readonly T[], count: number): readonly T[] {
  return items.slice(Math.max(0, items.length - count));
}

function screenOf({ text, textOnly = false, width, height }: Screenshot): ScreenAsText | undefined {
  return text === undefined && !textOnly ? undefined : { text: text ?? '', alone: textOnly, width, height };
}

function textMessage(role: 'system' | 'user' | 'assistant', text: string): ChatMessage {
  return { role, content: [{ type: 'text', text }] };
}
