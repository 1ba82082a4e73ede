import type { ParseFailureReason } from '../dialect';

/** Why an answer cannot be read; inside of this lib alone: to callers it is a value. */
export class Rejection extends Error {
  constructor(
    readonly reason: ParseFailureReason,
    /** What is wrong: offsets into the answer. */
    readonly place: { start: number; end: number },
    message: string,
  ) {
    super(message);
  }
}

/** For messages: in quotes, and not too long. */
export function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

export function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}
