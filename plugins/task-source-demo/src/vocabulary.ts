import { allGoals } from './grammar';
import { labels } from './words';

/** Element kinds as reported by `describe()`. */
const KINDS = [
  ...['title', 'back', 'add', 'text', 'app', 'row', 'alert', 'toggle', 'radio', 'stepper', 'minus', 'plus'],
  ...['field', 'button', 'get', 'remove', 'quick', 'song', 'like', 'message', 'sent', 'scroll', 'nav'],
] as const;

const VALUES = ['on', 'off', 'start', 'end', 'focused'];

/** All distinct words of labels, goals, kinds and values, sorted, without numbers. */
export function vocabulary(): string[] {
  const sentences = [...labels(), ...[...allGoals()].map(({ sentence }) => sentence), ...KINDS, ...VALUES];
  const words = sentences.flatMap(wordsOf).filter((word) => !/^\d+$/.test(word));
  return [...new Set(words)].toSorted();
}

/** The words of a sentence, without quotes and commas. */
export function wordsOf(sentence: string): string[] {
  return sentence.replaceAll(/[",]/g, '').split(' ');
}
