import type { ParseFailureReason } from '../dialect';

/** Why an answer cannot be parsed; only used inside this lib: callers receive a value. */
export class Rejection extends Error {
  constructor(
    readonly reason: ParseFailureReason,
    /** The faulty part: offsets into the answer. */
    readonly place: { start: number; end: number },
    message: string,
  ) {
    super(message);
  }
}

/** For messages: quoted and limited in length. */
export function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

export function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}
