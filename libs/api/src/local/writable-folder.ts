import { constants, existsSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Checks that a folder is writable or can be created. Changes nothing.
 *
 * @throws the system's Error, or one that names the file in the way
 */
export async function assertWritable(folder: string): Promise<void> {
  let there = resolve(folder);
  while (!existsSync(there)) there = dirname(there);
  if (!(await stat(there)).isDirectory()) throw new Error(`ENOTDIR: ${there} is a file, expected a folder`);
  await access(there, constants.W_OK);
}
