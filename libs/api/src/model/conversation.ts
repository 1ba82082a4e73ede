import {
  systemText,
  turnContent,
  turnText,
  type Dialect,
  type PromptStyle,
  type ScreenSizes,
} from '@ui-rl/actions';
import type { ChatMessage, ContentPart } from '@ui-rl/models';

/** A conversation with its encoded images, in order of appearance. */
export interface Conversation {
  messages: ChatMessage[];
  /** PNG or JPEG. */
  images: Uint8Array[];
  /** Where the conversation comes from, for error messages. */
  source?: string;
}

/** A screen and the goal to reach there. */
export interface Screen {
  /** PNG. */
  screenshot: Uint8Array;
  /** The goal in words, as in a task's description. */
  goal: string;
  /**
   * `full` (default) explains the actions; `compact` contains only the goal, for models trained on it, such as the
   * bundled one.
   */
  prompt?: PromptStyle;
}

/** The conversation of the first turn of a one-turn episode, as rollouts send it to the policy. */
export function conversationOf(screen: Screen, dialect: Dialect, sizes: ScreenSizes): Conversation {
  const style = screen.prompt ?? 'full';
  const text = turnText(style, { goal: screen.goal, turn: 1, maxTurns: 1 });
  const content = turnContent<ContentPart>(style, { type: 'text', text }, { type: 'image' });
  const system = systemText(style, () => dialect.describe(sizes));
  return {
    messages: [
      ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user', content },
    ],
    images: [screen.screenshot],
    source: 'the screen',
  };
}
