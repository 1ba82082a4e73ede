import { createContext, Script } from 'node:vm';
import type { AnswerCheck } from '@ui-rl/contracts';
import { PluginError } from './errors';
import type { EpisodeTurn } from './kinds';

/** Longest answer that is compared; a longer one fails. */
const MOST_CHARACTERS = 10_000;
/** Most regular expressions take microseconds; some never end on a text that is made for it. */
const REGEX_MS = 250;

/** The agent's answer: the message with which it finished; undefined if it did not, or gave none. */
export function answerOf(turns: readonly Pick<EpisodeTurn, 'actions'>[]): string | undefined {
  const last = turns.at(-1)?.actions.at(-1);
  return last?.action === 'finish' ? last.message : undefined;
}

/**
 * Whether an answer satisfies a check. Texts are normalized on both sides: Unicode NFKC, lower case, single spaces,
 * without quotes, brackets and punctuation around them (compare WebArena-Verified's type-aware comparison).
 *
 * @throws PluginError `invalid` if the regular expression of the check takes too long
 */
export function answerHolds(check: AnswerCheck, answer: string | undefined): boolean {
  if (answer === undefined || answer.length > MOST_CHARACTERS) return false;
  const { operator = 'equals', value, within = 0 } = check;
  switch (operator) {
    case 'equals':
      return normalized(answer) === normalized(value as string);
    case 'contains':
      return normalized(answer).includes(normalized(value as string));
    case 'one_of':
      return (value as string[]).some((each) => normalized(each) === normalized(answer));
    case 'number':
      return isNear(numbersIn(answer), value as number, within);
    case 'set':
      return sameItems(itemsOf(answer), value as string[]);
    case 'regex':
      return finds(value as string, answer);
  }
}

function normalized(text: string): string {
  const plain = text.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ');
  return plain.replace(/^[\s"'`“”‘’«»()[\]{}.,;:!?]+/u, '').replace(/[\s"'`“”‘’«»()[\]{}.,;:!?]+$/u, '');
}

/** Numbers of a text, with separators of thousands: "$1,234.50" has 1234.5. */
function numbersIn(text: string): number[] {
  const plain = text.normalize('NFKC').replaceAll('−', '-');
  const found =
    plain.match(/(?<![\w.])-?(?:\d{1,3}(?:[,\u00a0' ]\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?/giu) ?? [];
  return found.map((each) => Number(each.replaceAll(/[,\u00a0' ]/gu, '')));
}

/** An answer with several different numbers is not clear. */
function isNear(numbers: readonly number[], value: number, within: number): boolean {
  const different = [...new Set(numbers)];
  // Sums such as 0.1 + 0.2 differ in the last digits.
  return different.length === 1 && Math.abs(different[0] - value) <= within + 1e-9 * Math.abs(value);
}

/** Items of a JSON list, or of a text with commas, semicolons, line breaks or "and" between them. */
function itemsOf(answer: string): string[] {
  const list = listIn(answer);
  if (list !== undefined) return list;
  const parts = answer.split(/[;\n]|,(?!\d{3}\b)|\band\b/u);
  return parts.map((part) => part.replace(/^\s*(?:[-*•]|\d+[.)])\s+/u, ''));
}

function listIn(answer: string): string[] | undefined {
  if (!answer.trim().startsWith('[')) return undefined;
  try {
    const parsed: unknown = JSON.parse(answer);
    return Array.isArray(parsed) ? parsed.map(String) : undefined;
  } catch {
    return undefined;
  }
}

function sameItems(found: readonly string[], wanted: readonly string[]): boolean {
  const itemsIn = (list: readonly string[]) => new Set(list.map(normalized).filter((each) => each !== ''));
  const [a, b] = [itemsIn(found), itemsIn(wanted)];
  return a.size === b.size && [...a].every((each) => b.has(each));
}

const SEARCH = new Script("new RegExp(pattern, 'iu').test(text)");

function finds(pattern: string, text: string): boolean {
  try {
    // The time limit of a script also ends a regular expression.
    return SEARCH.runInContext(createContext({ pattern, text }), { timeout: REGEX_MS }) as boolean;
  } catch (cause) {
    throw new PluginError(
      'invalid',
      `the regular expression "${pattern}" of a check did not end within ${REGEX_MS} ms on an answer of ${text.length} characters`,
      { cause },
    );
  }
}
