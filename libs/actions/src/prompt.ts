/**
 * How a turn is presented to the policy. Shared by pre-training, rollouts and evaluation, so that all use the same
 * words.
 */

export const PROMPT_STYLES = ['compact', 'full'] as const;
export type PromptStyle = (typeof PROMPT_STYLES)[number];

export interface PromptTurn {
  goal: string;
  /** 1-based. */
  turn: number;
  maxTurns: number;
  /** The fault of the last answer, shown to the policy in this turn (not in the `compact` style). */
  correction?: string;
  /** Answers of earlier turns that have no message, oldest first (only in the `compact` style). */
  earlier?: readonly string[];
  /** The screen as text, if the environment reports it; an empty one is shown, too. */
  screen?: ScreenAsText;
}

export interface ScreenAsText {
  text: string;
  /** Whether the policy reads only the text, without a screenshot. */
  alone: boolean;
  /** Size of the screenshot, in whose pixels the text states positions. */
  width: number;
  height: number;
}

/**
 * The system message, or null. `compact` has none: the small default model learned its action format in training.
 * `describeActions` is the action format's own description of its actions and of the answer's form.
 */
export function systemText(style: PromptStyle, describeActions: () => string): string | null {
  if (style === 'compact') return null;
  return `You operate a user interface. ${describeActions()}`;
}

/**
 * The text of a user turn. `compact` is only the goal and earlier answers: a small model cannot use a description of its
 * last fault.
 */
export function turnText(
  style: PromptStyle,
  { goal, turn, maxTurns, correction, screen, earlier = [] }: PromptTurn,
): string {
  if (style === 'compact')
    return [goal, ...earlier, ...(screen === undefined ? [] : [screen.text])].join('\n');
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
 * The parts of a user turn in the order in which the policy reads them. `compact` puts the goal before the
 * screenshot: a causal model then processes every part of the screen knowing the goal, which a small one needs.
 * `full` puts the screenshot first, as large models expect.
 */
export function turnContent<Part>(style: PromptStyle, text: Part, image: Part): [Part, Part] {
  return style === 'compact' ? [text, image] : [image, text];
}

const OMITTED_SCREENSHOT = '(screenshot omitted)';

/**
 * The text of an earlier turn in the `full` style whose screenshot is no longer shown; a placeholder takes the
 * screenshot's place. In the `compact` style such a turn has no message, see {@link PromptTurn.earlier}.
 */
export function turnTextWithoutScreenshot(text: string): string {
  return `${OMITTED_SCREENSHOT}\n${text}`;
}
