/** How a turn is put to the policy. One place, so that pre-training, rollouts and evaluation read the same words. */

export const PROMPT_STYLES = ['compact', 'full'] as const;
export type PromptStyle = (typeof PROMPT_STYLES)[number];

export interface PromptTurn {
  goal: string;
  /** 1-based. */
  turn: number;
  maxTurns: number;
  /** What was wrong with the last answer, told to the policy in this turn. */
  correction?: string;
}

/**
 * The system message, or null. `compact` has none: the small default model knows its dialect by training.
 * `describeActions` is the dialect's own description of its actions.
 */
export function systemText(style: PromptStyle, describeActions: () => string): string | null {
  if (style === 'compact') return null;
  return `You operate a user interface. You see a screenshot and answer with exactly one action.\n${describeActions()}`;
}

/** The text that follows the screenshot in a user turn. */
export function turnText(style: PromptStyle, { goal, turn, maxTurns, correction }: PromptTurn): string {
  if (style === 'compact') return correction === undefined ? goal : `${goal}\n${correction}`;
  const notice = correction === undefined ? '' : `${correction}\n`;
  return `${notice}Task: ${goal}\nTurn ${turn}/${maxTurns}. Analyze the screenshot and take the next action to complete the task.`;
}
