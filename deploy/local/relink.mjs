// Has compiled files name the libs they import by where these lie, so that they are found outside of the repository.
import { dirname, relative } from 'node:path';

/** Specifiers of imports, in types and in code of every kind. */
export const SPECIFIER = /(from\s+|import\s*\(\s*|require\(\s*|import\s+)(['"])([^'"]+)\2/g;

/** Those of compiled code alone: what it holds as text, such as components to begin with, stays as it is. */
export const REQUIRED = /(require\()(['"])([^'"]+)\2/g;

/**
 * @param text of `file`
 * @param indexOf the path of a lib's index, without extension
 */
export function relink(text, file, indexOf, pattern = SPECIFIER) {
  return text.replaceAll(pattern, (all, before, quote, specifier) => {
    const lib = /^@ui-rl\/(.+)$/.exec(specifier)?.[1];
    if (lib === undefined) return all;
    const path = relative(dirname(file), indexOf(lib)).replaceAll('\\', '/');
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
}
