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
export function turnText(style: PromptStyle, { goal, turn, maxTurns, correction }: PromptTurn): string {
  if (style === 'compact') return goal;
  const notice = correction === undefined ? '' : `${correction}\n`;
  return `${notice}Task: ${goal}\nTurn ${turn}/${maxTurns}. Analyze the screenshot and take the next action to complete the task.`;
}

/**
 * The parts of a user turn in the order the policy reads them. `compact` tells the goal before the screenshot: a causal model
 * then looks at every place of the screen knowing what it is looking for, which a small one needs. `full` shows the
 * screenshot first, as large models are used to.
 */
export function turnContent<Part>(style: PromptStyle, text: Part, image: Part): [Part, Part] {
  return style === 'compact' ? [text, image] : [image, text];
}
