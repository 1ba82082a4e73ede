import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(__dirname, '../..');

/** A fenced block of a page. */
export interface Example {
  /** For example `docs/guides/reward.md`. */
  page: string;
  language: string;
  text: string;
}

const pagesIn = (...folders: string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, 'docs', folder)).map((file) => `docs/${folder}/${file}`),
  );

/** Pages whose examples are complete files. */
const GUIDES = ['README.md', 'CONTRIBUTING.md', ...pagesIn('guides', 'operations')];

/**
 * Fenced blocks of the README, the guides and the pages on operations; for commands also of the concepts, whose other
 * examples are incomplete.
 */
export function examples(language: string): Example[] {
  const pages = language === 'sh' ? [...GUIDES, ...pagesIn('concepts')] : GUIDES;
  return pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)];
    return blocks
      .map(([, found, body]) => ({ page, language: found, text: body }))
      .filter((example) => example.language === language);
  });
}

/** The name of a plugin file in its first line: `// speed-reward.js`. */
export function fileName({ page, text }: Example): string {
  const name = /^\/\/ ([\w-]+\.js)/.exec(text)?.[1];
  if (name === undefined)
    throw new Error(`an example of ${page} does not say which file it is: "// name.js"`);
  return name;
}

/** Each command of a block, as one line without its comment. */
export function lines({ text }: Example): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** Words of each command in a block, without leading variables. */
export function commands(example: Example): string[][] {
  return lines(example)
    .map(words)
    .map((line) => line.slice(line.findIndex((word) => !/^[A-Z_]+=/.test(word))));
}

function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain,
  );
}
