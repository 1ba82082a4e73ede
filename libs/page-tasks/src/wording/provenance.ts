import { createHash } from 'node:crypto';
import { TAKEN } from './taken';

/** Marks around a name while a goal is built, which separate the sentence from its names. */
const START = '\uE000';
const END = '\uE001';

export function marked(name: string): string {
  return START + name + END;
}

/** A sentence without name marks, with "a" corrected to "an". */
export function unmarked(sentence: string): string {
  const isName = /\uE000[^\uE001]*\uE001/;
  const article = /\b(a) (?=\uE000?[aeio])/;
  return sentence
    .replaceAll(new RegExp(`${isName.source}|${article.source}`, 'gi'), (found, a?: string) =>
      a === undefined ? found : `${a}n `,
    )
    .replaceAll(/[\uE000\uE001]/g, '');
}

/**
 * A goal without its names, numbers, case and punctuation: `Click "OK".` becomes `click *`. Goals of one template
 * have the same skeleton.
 */
export function skeletonOf(sentence: string): string {
  return sentence
    .replaceAll(/\uE000[^\uE001]*\uE001/g, ' * ')
    .replaceAll(/"[^"]*"|“[^”]*”|(?<![\w*])'[^']*'(?!\w)/g, ' * ')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}*]+/gu, ' ')
    .replaceAll(/(?<![\p{L}\p{N}])\p{N}+(?:st|nd|rd|th)?(?![\p{L}\p{N}])/gu, '*')
    .replaceAll(/\*(?:\s*\*)+/g, '*')
    .trim();
}

export function digestOf(skeleton: string): string {
  return createHash('sha256').update(skeleton).digest('hex').slice(0, 12);
}

/** Whether MiniWoB++ or the demo phone has a goal with that skeleton: such a wording is never used. */
export function isTaken(sentence: string): boolean {
  return TAKEN.has(digestOf(skeletonOf(sentence)));
}
