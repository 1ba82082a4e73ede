import type { Action } from './action';
import type { ScreenSizes } from './sizes';

export const PARSE_FAILURES = [
  /** There is no action in the text. */
  'no_action',
  /** What looks like an action is not well-formed. */
  'malformed',
  /** Something stands behind the action. */
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
  /** What is wrong. */
  span: Span;
  /** A short message for the model's next turn: what was wrong and what is expected. */
  correction: string;
}

/** The actions of an answer in the order they are to be carried out, at least one. */
export type ParseResult = { ok: true; actions: Action[] } | ParseFailure;

/** How actions are written as text by a family of models. Coordinates of actions are pixels of the screenshot. */
export interface Dialect {
  /** Reads a model's answer. Never throws: what cannot be read is a value. */
  parse(text: string, sizes: ScreenSizes): ParseResult;
  /**
   * The canonical form; `parse(format(actions, sizes), sizes)` gives the actions back, as exactly as the dialect writes points.
   *
   * @throws RangeError where the dialect cannot write so many actions in one answer
   */
  format(actions: readonly Action[], sizes: ScreenSizes): string;
  /** What a model answers with and how, in sentences for its system prompt. */
  describe(sizes: ScreenSizes): string;
  /**
   * A regular expression of whole answers, all of which can be parsed, for sampling nothing else (`rollout.constrain_actions`). Its
   * characters, classes of ASCII characters, groups, `|`, `?`, `*`, `+` and `{m,n}` mean what they mean in JavaScript.
   */
  grammar?(sizes: ScreenSizes): string;
}
