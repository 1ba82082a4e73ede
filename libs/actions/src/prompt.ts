/** How a turn is put to the policy. One place, so that pre-training, rollouts and evaluation read the same words. */

export const PROMPT_STYLES = ['compact', 'full'] as const;
export type PromptStyle = (typeof PROMPT_STYLES)[number];

export interface PromptTurn {
  goal: string;
  /** 1-based. */
  turn: number;
  maxTurns: number;
  /** What was wrong with the last answer, told to the policy in this turn (not in the `compact` style). */
  correction?: string;
  /** The screen as text, where it is told so; an empty one is told, too. */
  screen?: ScreenAsText;
}

export interface ScreenAsText {
  text: string;
  /** No screenshot is shown with it. */
  alone: boolean;
  /** Of the screenshot, in whose pixels the text names places. */
  width: number;
  height: number;
}

/**
 * The system message, or null. `compact` has none: the small default model knows its dialect by training.
 * `describeActions` is the dialect's own description of its actions and of how to answer.
 */
export function systemText(style: PromptStyle, describeActions: () => string): string | null {
  if (style === 'compact') return null;
  return `You operate a user interface. ${describeActions()}`;
}

/** The text of a user turn. `compact` is the goal alone: a small model has no words for what was wrong with its last answer. */
export function turnText(
  style: PromptStyle,
  { goal, turn, maxTurns, correction, screen }: PromptTurn,
): string {
  if (style === 'compact') return screen === undefined ? goal : `${goal}\n${screen.text}`;
  const notice = correction === undefined ? '' : `${correction}\n`;
  const what =
    screen === undefined ? 'the screenshot' : screen.alone ? 'the screen' : 'the screenshot and its text';
  return `${notice}Task: ${goal}\n${screenText(screen)}Turn ${turn}/${maxTurns}. Analyze ${what} and take the next action to complete the task.`;
}

function screenText(screen: ScreenAsText | undefined): string {
  if (screen === undefined) return '';
  const { text, width, height } = screen;
  return `The screen as text, ${width} by ${height} pixels, with places as (x,y) in pixels:\n${text}\n`;
}

/**
 * The parts of a user turn in the order the policy reads them. `compact` tells the goal before the screenshot: a causal model
 * then looks at every place of the screen knowing what it is looking for, which a small one needs. `full` shows the
 * screenshot first, as large models are used to.
 */
export function turnContent<Part>(style: PromptStyle, text: Part, image: Part): [Part, Part] {
  return style === 'compact' ? [text, image] : [image, text];
}
