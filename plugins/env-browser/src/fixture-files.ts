import { readFile } from 'node:fs/promises';
import { realpathSync, statSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { show } from '@ui-rl/plugin-kit';
import { contentTypeOf } from './content-types';

/** Environment variable of the env service that names the folder of files for tasks with an address. */
export const FILES = 'BROWSER_FILES';

const MAX_FILES = 20;
const MAX_NAME = 200;
const MAX_BYTES = 10 * 2 ** 20;

/** A file that a task offers to file choosers. */
export interface FixtureFile {
  /** As the task names it. */
  label: string;
  path: string;
}

/** Whether it names a file below a folder: relative, without `..` and hidden parts. */
export function isWithin(path: string): boolean {
  return !/[\p{Cc}\p{Cs}\\]/u.test(path) && path.split('/').every((name) => /^[^.]/.test(name));
}

/**
 * The files that a task names, below a folder.
 *
 * @param folder undefined if the env service has none
 * @param refuse throws an error that names the problem
 */
export function readFixtureFiles(
  files: unknown,
  folder: string | undefined,
  refuse: (problem: string) => never,
): FixtureFile[] {
  if (files === undefined) return [];
  const isList = Array.isArray(files) && files.length > 0 && files.length <= MAX_FILES;
  if (!isList) return refuse(`"files" must be a list of 1 to ${MAX_FILES} names, found ${show(files)}`);
  if (folder === undefined) {
    refuse(`"files" names files of this env service, which has no folder of them: ${FILES} names it`);
  }
  const labels = new Set(files);
  if (labels.size < files.length) refuse('"files" names a file twice');
  return files.map((label: unknown) => fixtureFile(label, folder, refuse));
}

/** A file as pages get it. Throws if the file has become unreadable or too large. */
export async function payloadOf({ label, path }: FixtureFile) {
  const buffer = await readFile(path);
  if (buffer.length > MAX_BYTES) throw new Error(`${label} has grown beyond ${MAX_BYTES} bytes`);
  return { name: basename(label), mimeType: contentTypeOf(path).split(';')[0], buffer };
}

function fixtureFile(label: unknown, folder: string, refuse: (problem: string) => never): FixtureFile {
  if (typeof label !== 'string' || label.length > MAX_NAME || !isWithin(label)) {
    return refuse(`"files" must name files in a folder, such as "invoices/may.pdf", found ${show(label)}`);
  }
  const path = realPathIn(folder, label);
  const found = path === null ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === null || found?.isFile() !== true)
    return refuse(`"files" names ${show(label)}, but ${folder} has no such file`);
  if (found.size > MAX_BYTES)
    refuse(`"files" names ${show(label)}, which has ${found.size} bytes, expected at most ${MAX_BYTES}`);
  return { label, path };
}

/** Null if there is no such path, or a link leads out of the folder. */
function realPathIn(folder: string, label: string): string | null {
  try {
    const path = realpathSync(join(folder, label));
    return path.startsWith(realpathSync(folder) + sep) ? path : null;
  } catch {
    return null;
  }
}
