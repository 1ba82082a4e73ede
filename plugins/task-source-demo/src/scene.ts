import { allGoals } from './grammar';
import type { ScreenElement } from './route';
import { labels } from './words';

/** Element kinds as reported by `describe()`. */
export const KINDS = [
  ...['title', 'back', 'add', 'text', 'app', 'row', 'alert', 'toggle', 'radio', 'stepper', 'minus', 'plus'],
  ...['field', 'button', 'get', 'remove', 'quick', 'song', 'like', 'message', 'sent', 'scroll', 'nav'],
] as const;

const VALUES = ['on', 'off', 'start', 'end', 'focused'];

/** At the same position on nearly every screen, so repeating them teaches nothing. */
const FURNITURE = new Set(['nav', 'back']);

/**
 * A screen as text, one line per element from top to bottom: `x,y kind Label value`, where x and y are the center of
 * its box in pixels; `value` is present if the element has one, and a focused field ends with `focused`. The position
 * comes first: after writing it, a model knows where to look for the rest.
 */
export function sceneText(elements: readonly ScreenElement[]): string {
  return elements
    .filter(({ kind }) => !FURNITURE.has(kind))
    .map(lineOf)
    .join('\n');
}

function lineOf({ kind, label, box: [x, y, width, height], value, focused }: ScreenElement): string {
  const place = `${x + width / 2},${y + height / 2}`;
  const parts = [place, kind, label, value, focused === true ? 'focused' : ''];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** All distinct words of labels, goals, kinds and values, sorted, without numbers. */
export function vocabulary(): string[] {
  const sentences = [...labels(), ...[...allGoals()].map(({ sentence }) => sentence), ...KINDS, ...VALUES];
  const words = sentences.flatMap((sentence) => sentence.split(' ')).filter((word) => !/^\d+$/.test(word));
  return [...new Set(words)].toSorted();
}
