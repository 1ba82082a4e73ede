import type { Trajectory } from '@ui-rl/contracts';

/** Parse errors of these reasons name an unknown tool, or have wrong arguments; all others are unreadable answers. */
export const TOOL_FAULTS: readonly string[] = ['unknown_action'];
export const ARGUMENT_FAULTS: readonly string[] = [
  ...['unknown_key', 'missing_key', 'duplicate_key', 'wrong_type', 'unknown_value', 'out_of_range'],
];

/** Faults of an episode, in numbers of turns. */
export interface Faults {
  /** Answers without a readable action. */
  parseErrors: number;
  /** Answers with an unknown action. */
  toolErrors: number;
  /** Answers whose action has wrong arguments. */
  argumentErrors: number;
  /** Turns whose last action the environment could not perform. */
  runtimeErrors: number;
  /** Turns that repeat the actions of the turn before. */
  repeatedActions: number;
}

export function faultsOf({ turns }: Trajectory): Faults {
  const reasons = turns.flatMap(({ parseError }) =>
    parseError === undefined ? [] : [parseError.split(':')[0]],
  );
  const toolErrors = reasons.filter((reason) => TOOL_FAULTS.includes(reason)).length;
  const argumentErrors = reasons.filter((reason) => ARGUMENT_FAULTS.includes(reason)).length;
  const done = turns.map(({ actions }) => (actions.length === 0 ? null : JSON.stringify(actions)));
  return {
    parseErrors: reasons.length - toolErrors - argumentErrors,
    toolErrors,
    argumentErrors,
    runtimeErrors: turns.filter(
      ({ parseError, outcome = 'ok' }) => parseError === undefined && outcome !== 'ok',
    ).length,
    repeatedActions: done.filter((actions, index) => actions !== null && actions === done[index - 1]).length,
  };
}

/** Whether the agent said at the end that it succeeded; null if it did not finish. */
export function reportedSuccess({ turns }: Trajectory): boolean | null {
  const last = turns.at(-1)?.actions.at(-1);
  return last?.action === 'finish' && typeof last.success === 'boolean' ? last.success : null;
}
