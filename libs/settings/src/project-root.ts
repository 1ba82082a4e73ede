import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Folder of the clone, or of the installed package; sources and compiled files are at different depths below it. */
export const projectRoot = above(__dirname);

function above(dir: string): string {
  if (existsSync(join(dir, 'deploy/config'))) return dir;
  if (dir === dirname(dir)) throw new Error(`no folder above ${__dirname} holds deploy/config`);
  return above(dirname(dir));
}
