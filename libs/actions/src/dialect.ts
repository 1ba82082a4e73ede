import type { Action } from './action';

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

export type ParseResult = { ok: true; action: Action } | ParseFailure;

/** How actions are written as text by a family of models. */
export interface Dialect {
  readonly name: string;
  /** Reads a model's answer. Never throws: what cannot be read is a value. */
  parse(text: string): ParseResult;
  /** The canonical form; `parse(format(action))` gives the action back. */
  format(action: Action): string;
  /** The dialect explained to a model, for its system prompt. */
  describe(): string;
}
