import type { Action, ActionName } from './action';
import type { ScreenSizes } from './sizes';

export const PARSE_FAILURES = [
  /** The text contains no action. */
  'no_action',
  /** An apparent action is malformed. */
  'malformed',
  /** Text follows the action. */
  'trailing_text',
  'unknown_action',
  'unknown_key',
  'missing_key',
  'duplicate_key',
  'wrong_type',
  'unknown_value',
  'out_of_range',
] as const;
export type ParseFailureReason = (typeof PARSE_FAILURES)[number];

/** A part of the parsed text: `text.slice(start, end)`. */
export interface Span {
  start: number;
  end: number;
  text: string;
}

export interface ParseFailure {
  ok: false;
  reason: ParseFailureReason;
  /** Position of the fault. */
  span: Span;
  /** A short message for the model's next turn: the fault and what is expected. */
  correction: string;
}

/** The actions of an answer in order of execution, at least one. */
export type ParseResult = { ok: true; actions: Action[] } | ParseFailure;

/** Parses with the function given, and refuses answers with other actions than these. */
export function parsingOnly(actions: readonly ActionName[], parse: Dialect['parse']): Dialect['parse'] {
  return (text, sizes) => {
    const parsed = parse(text, sizes);
    const other = parsed.ok
      ? parsed.actions.find(({ action }) => !actions.includes(action))?.action
      : undefined;
    if (other === undefined) return parsed;
    return {
      ok: false,
      reason: 'unknown_action',
      span: { start: 0, end: text.length, text },
      correction: `The action ${other} is not available here; there are ${actions.join(', ')}.`,
    };
  };
}

/** Formats with the function given. @throws RangeError if an action is not one of these */
export function formattingOnly(actions: readonly ActionName[], format: Dialect['format']): Dialect['format'] {
  return (list, sizes) => {
    const other = list.find(({ action }) => !actions.includes(action));
    if (other === undefined) return format(list, sizes);
    throw new RangeError(
      `the action ${other.action} is not available in this action format, which is limited to ${actions.join(', ')}`,
    );
  };
}

/**
 * An action format: how a family of models writes actions as text. Coordinates of actions are pixels of the
 * screenshot.
 */
export interface Dialect {
  /** Parses a model's answer. Never throws: failures are values. */
  parse(text: string, sizes: ScreenSizes): ParseResult;
  /**
   * The canonical form; `parse(format(actions, sizes), sizes)` returns the actions, with the precision of the
   * format's coordinates.
   *
   * @throws RangeError if the format cannot express so many actions in one answer
   */
  format(actions: readonly Action[], sizes: ScreenSizes): string;
  /** Describes the actions and the form of an answer, in sentences for the system prompt. */
  describe(sizes: ScreenSizes): string;
  /**
   * A regular expression of whole answers that can all be parsed, for constrained sampling
   * (`rollout.constrain_actions`). Its characters, classes of ASCII characters, groups, `|`, `?`, `*`, `+` and
   * `{m,n}` have the same meaning as in JavaScript.
   */
  grammar?(sizes: ScreenSizes): string;
}
