import { isRecord } from '@ui-rl/plugin-kit';
import { DesktopError } from './errors';

const MAX_LINE = 500;
const MAX_STATE_BYTES = 2 ** 20;

/** Control characters, those that turn the direction of text, what ends a line, halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** The same, but for what text of several lines has. */
const UNSTORABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;

/** Text of a program as logs and errors may show it: one line, bounded, its end where it is longer. */
export function plainLine(text: string, maxLength = MAX_LINE): string {
  const line = text.replace(UNPRINTABLE, ' ').trim();
  return line.length > maxLength ? `… ${line.slice(-maxLength)}` : line;
}

/** A state as an application tells it in JSON: an object of bounded size without control characters. Throws `DesktopError`. */
export function plainState(json: string, whose: string): Record<string, unknown> {
  if (json.length > MAX_STATE_BYTES)
    refuse(whose, `has ${json.length} characters, more than can be taken in`);
  let state: unknown;
  try {
    state = JSON.parse(json, (_key, value: unknown) =>
      typeof value === 'string' ? value.replace(UNSTORABLE, ' ') : value,
    );
  } catch {
    return refuse(whose, `is not JSON: ${plainLine(json, 200)}`);
  }
  return isRecord(state) ? state : refuse(whose, 'must be an object');
}

function refuse(whose: string, what: string): never {
  throw new DesktopError('application_error', `the state of ${whose} ${what}`);
}
