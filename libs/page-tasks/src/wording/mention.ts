import { seedFor, type Random } from '@ui-rl/random';
import type { Split } from './phrases';
import { marked } from './provenance';

/** Maximum length of a name that a goal contains in full. */
export const LONGEST_NAME = 40;

/** Pairs of quotes; common ones are more frequent. */
const QUOTES: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['"', '"'],
  ['"', '"'],
  ["'", "'"],
  ["'", "'"],
  ['“', '”'],
];

/** Names that may appear without quotes: no leading or trailing spaces or punctuation. */
const PLAIN = /^[\p{L}\p{N}$€£#][\p{L}\p{N} ,&@%/.:+'-]*[\p{L}\p{N}%]$|^[\p{L}\p{N}]$/u;
/** Words that would read as part of the sentence without quotes. */
const WORDS_OF_SENTENCES =
  /^(?:a|all|and|any|at|button|by|first|for|from|in|it|last|left|link|next|no|of|off|on|one|or|right|second|tab|text|the|then|third|this|to|with)$/i;

/** Normalizes a name: names that differ only in case and spaces are the same to a reader. */
export function canonical(name: string): string {
  return name.trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

/** Whether a name can be used in a goal. */
export function isSayable(name: string): boolean {
  const plain = name.trim();
  return plain !== '' && plain.length <= LONGEST_NAME && !/[\n\t"“”]/.test(plain) && !/ {2}/.test(plain);
}

/**
 * A name within a goal: usually as on the screen, sometimes in different case; with or without quotes. Marked as a
 * name.
 */
export function mention(name: string, random: Random): string {
  return marked(quoted(recased(name.trim(), random), random));
}

/** A literal text, such as one to type: never in different case, usually in quotes. */
export function mentionExactly(text: string, random: Random): string {
  return marked(isPlain(text) && random.chance(0.35) ? text : inQuotes(text, random));
}

function quoted(name: string, random: Random): string {
  return isPlain(name) && random.chance(0.5) ? name : inQuotes(name, random);
}

function isPlain(name: string): boolean {
  return PLAIN.test(name) && !WORDS_OF_SENTENCES.test(name);
}

function inQuotes(text: string, random: Random): string {
  const [open, close] = random.pick(QUOTES);
  return text.includes(open) || text.includes(close) ? `"${text}"` : open + text + close;
}

function recased(name: string, random: Random): string {
  const dice = random.next();
  if (dice < 0.8) return name;
  if (dice < 0.9) return name.toLowerCase();
  if (dice < 0.95) return name.toUpperCase();
  return name.replaceAll(/\p{L}+/gu, (word) => word[0].toUpperCase() + word.slice(1).toLowerCase());
}

const SHORTEST_HELD_OUT = 7;
const HELD_OUT_SHARE = 12;

/** Whether a name is excluded from training: about one in twelve of those with seven or more characters. */
export function isHeldOutName(name: string): boolean {
  const plain = canonical(name);
  return plain.length >= SHORTEST_HELD_OUT && (seedFor(plain, 0) >>> 0) % HELD_OUT_SHARE === 0;
}

/** Whether goals of a split may use the name. */
export function mayName(name: string, split: Split): boolean {
  return isSayable(name) && (split === 'held-out' || !isHeldOutName(name));
}
