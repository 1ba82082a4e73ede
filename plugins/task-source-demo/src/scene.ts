import { allGoals } from './grammar';
import type { ScreenElement } from './route';
import { labels } from './words';

/** Kinds of elements as `describe()` names them. */
export const KINDS = [
  ...['title', 'back', 'add', 'text', 'app', 'row', 'alert', 'toggle', 'radio', 'stepper', 'minus', 'plus'],
  ...['field', 'button', 'get', 'remove', 'quick', 'song', 'like', 'message', 'sent', 'scroll', 'nav'],
] as const;

const VALUES = ['on', 'off', 'start', 'end', 'focused'];

/** On nearly every screen at the same place: nothing to learn from naming them again and again. */
const FURNITURE = new Set(['nav', 'back']);

/**
 * A screen as text, one line per element from top to bottom: `x,y kind Label value`, where x and y are the middle of its
 * box in pixels; `value` is there where the element has one, `focused` follows on a field with the focus. The place comes
 * first: a model that has just written it knows where to look for the rest.
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

/** Every word of labels, goals, kinds and values, without doubles, sorted. Numbers are not among them. */
export function vocabulary(): string[] {
  const sentences = [...labels(), ...[...allGoals()].map(({ sentence }) => sentence), ...KINDS, ...VALUES];
  const words = sentences.flatMap((sentence) => sentence.split(' ')).filter((word) => !/^\d+$/.test(word));
  return [...new Set(words)].toSorted();
}
