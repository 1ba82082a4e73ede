import { type PromptStyle, type ScreenAsText, systemText, turnContent, turnText } from '@ui-rl/actions';
import type { ChatMessage, Screenshot } from '@ui-rl/contracts';

/** What the policy saw and said in a turn that is over. */
export interface PastTurn {
  /** sha256; null where the policy read the screen as text alone. */
  screenshot: string | null;
  /** What the user's message said besides the screenshot. */
  text: string;
  answer: string;
}

export interface PromptInput {
  style: PromptStyle;
  describeActions: () => string;
  goal: string;
  /** All turns that are over. */
  past: readonly PastTurn[];
  screenshot: Screenshot;
  maxTurns: number;
  /** Turns the policy reads, the present one included. */
  historyTurns: number;
  /** What was wrong with the last answer. */
  correction?: string;
}

export interface Prompt {
  messages: ChatMessage[];
  /** The new screenshot as PNG bytes, earlier ones by their hashes; the messages name them by index. */
  images: (Uint8Array | string)[];
  /** What the present turn says besides the screenshot. */
  text: string;
}

/** The conversation of a turn: older turns are dropped whole, text and image together. */
export function buildPrompt(input: PromptInput): Prompt {
  const text = turnText(input.style, {
    goal: input.goal,
    turn: input.past.length + 1,
    maxTurns: input.maxTurns,
    correction: input.correction,
    screen: screenOf(input.screenshot),
  });
  const kept = input.past.slice(Math.max(0, input.past.length - (input.historyTurns - 1)));
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
    ...kept.flatMap((turn) => [user(turn.screenshot, turn.text), textMessage('assistant', turn.answer)]),
    user(shownImage(input.screenshot), text, input.screenshot.png),
  ];
  return { messages, images, text };
}

/** Of a screenshot what a policy sees as a picture: its sha256, or null. */
export function shownImage({ sha256, textOnly }: Screenshot): string | null {
  return textOnly === true ? null : sha256;
}

function screenOf({ text, textOnly = false, width, height }: Screenshot): ScreenAsText | undefined {
  return text === undefined && !textOnly ? undefined : { text: text ?? '', alone: textOnly, width, height };
}

function textMessage(role: 'system' | 'user' | 'assistant', text: string): ChatMessage {
  return { role, content: [{ type: 'text', text }] };
}
