import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(__dirname, '../..');

/** A fenced block of a page. */
export interface Example {
  /** `docs/guides/reward.md`. */
  page: string;
  language: string;
  text: string;
}

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...['guides', 'operations'].flatMap((folder) =>
    readdirSync(join(root, 'docs', folder)).map((file) => `docs/${folder}/${file}`),
  ),
];

/** Fenced blocks of the README, the guides and the pages on operations. */
export function examples(language: string): Example[] {
  return PAGES.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)];
    return blocks
      .map(([, found, body]) => ({ page, language: found, text: body }))
      .filter((example) => example.language === language);
  });
}

/** The name of a plugin file, which its first line says: `// speed-reward.js`. */
export function fileName({ page, text }: Example): string {
  const name = /^\/\/ ([\w-]+\.js)/.exec(text)?.[1];
  if (name === undefined)
    throw new Error(`an example of ${page} does not say which file it is: "// name.js"`);
  return name;
}

/** Words of each command in a block: comments, variables in front and redirections are left out. */
export function commands({ text }: Example): string[][] {
  return text
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .map(words)
    .map((line) => line.slice(line.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    .filter((line) => line.length > 0 && line[0] !== '');
}

function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain,
  );
}
