import { isRecord } from '@ui-rl/plugin-kit';
import { DesktopError } from './errors';

const MAX_LINE = 500;
const MAX_STATE_BYTES = 2 ** 20;

/** Control characters, bidirectional overrides, line separators, lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** The same for multi-line text, which may contain tabs and line breaks. */
const UNSTORABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;

/** Program output for logs and errors: one line; if it is too long, only its end. */
export function plainLine(text: string, maxLength = MAX_LINE): string {
  const line = text.replace(UNPRINTABLE, ' ').trim();
  return line.length > maxLength ? `… ${line.slice(-maxLength)}` : line;
}

/**
 * Parses the JSON state of an application: an object of bounded size, without control characters. Throws
 * `DesktopError`.
 */
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
