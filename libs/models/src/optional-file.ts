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

function parseJsonObject(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ModelError('bad-file', `${path} is not JSON: ${String(cause)}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new ModelError(
    'bad-file',
    `${path} holds ${Array.isArray(value) ? 'an array' : String(value)}; expected a JSON object`,
  );
}
