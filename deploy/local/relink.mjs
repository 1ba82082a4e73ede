// Rewrites lib imports in compiled files to relative paths, so that they resolve outside of the repository.
import { dirname, relative } from 'node:path';

/** Import specifiers in types and in any kind of code. */
export const SPECIFIER = /(from\s+|import\s*\(\s*|require\(\s*|import\s+)(['"])([^'"]+)\2/g;

/** Only `require` calls of compiled code: imports inside its strings, such as component templates, are unchanged. */
export const REQUIRED = /(require\()(['"])([^'"]+)\2/g;

/**
 * @param text of `file`
 * @param indexOf returns the path of a lib's index, without extension
 */
export function relink(text, file, indexOf, pattern = SPECIFIER) {
  return text.replaceAll(pattern, (all, before, quote, specifier) => {
    const lib = /^@ui-rl\/(.+)$/.exec(specifier)?.[1];
    if (lib === undefined) return all;
    const path = relative(dirname(file), indexOf(lib)).replaceAll('\\', '/');
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}
