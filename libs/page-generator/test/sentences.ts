import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Lengths in words of sentences that are too long to match by chance. */
export const SENTENCE_WORDS = [5, 6, 7, 8];

/** The words of a text in lower case, without punctuation. */
export function normalized(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/&\w+;/g, ' ')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

export function sentenceHash(words: readonly string[]): string {
  return createHash('sha256').update(words.join(' ')).digest('hex').slice(0, 10);
}

/** Hashes of all runs of `count` words. */
export function runHashes(text: string, count: number): string[] {
  const words = normalized(text);
  return words.slice(count - 1).map((_, i) => sentenceHash(words.slice(i, i + count)));
}

/** User-visible texts of source code: string literals, and texts between tags. */
export function sentencesIn(source: string): string[] {
  const literals = [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)];
  const texts = [...source.matchAll(/>([^<>{}]+)</g)];
  return [...literals.map(([, a, b, c]) => a ?? b ?? c ?? ''), ...texts.map(([, text]) => text)].flatMap(
    (each) =>
      each
        .replace(/<[^>]*>/g, '\n')
        .replace(/\$\{[^}]*\}/g, '\n')
        .split(/[\n.!?:;]|\\n/),
  );
}

/** Every file of a folder whose name matches. */
export function* filesIn(folder: string, ending: RegExp): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path, ending);
    else if (ending.test(entry.name)) yield path;
  }
}

/** Hashes of the sentences of pages and goals in a folder, by number of words. */
export function folderHashes(folder: string, ending: RegExp): string[] {
  const found = new Set<string>();
  for (const path of filesIn(folder, ending)) {
    for (const sentence of sentencesIn(readFileSync(path, 'utf8'))) {
      const words = normalized(sentence);
      if (words.length < SENTENCE_WORDS[0]) continue;
      found.add(sentenceHash(words.slice(0, Math.min(words.length, SENTENCE_WORDS.at(-1)!))));
    }
  }
  return [...found].sort();
}
