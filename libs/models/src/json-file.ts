import { readFile } from 'node:fs/promises';
import { ModelError } from './errors';

/** Text of a file; undefined if it does not exist. */
export async function readOptionalText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined;
    throw new ModelError('missing-file', `${path} cannot be read: ${cause.message}`, { cause });
  });
}

/** The object in a JSON file; undefined if the file does not exist. */
export async function readOptionalJson(path: string): Promise<Record<string, unknown> | undefined> {
  const text = await readOptionalText(path);
  return text === undefined ? undefined : parseJsonObject(text, path);
}

/** @param expected completes the error if the file cannot be read: `a model folder holds config.json` */
export function readText(path: string, expected?: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    const hint = expected === undefined ? '' : `; ${expected}`;
    throw new ModelError('missing-file', `${path}: cannot be read${hint}`, { cause });
  });
}

/** The object in a JSON file. @param expected as for `readText` */
export async function readJsonObject(path: string, expected?: string): Promise<Record<string, unknown>> {
  return parseJsonObject(await readText(path, expected), path);
}

function parseJsonObject(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ModelError('bad-file', `${path}: is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new ModelError(
    'bad-file',
    `${path}: holds ${Array.isArray(value) ? 'an array' : String(value)}; expected a JSON object`,
  );
}
