import { resolve } from 'node:path';

/** Folder of the clone: `dist/libs/api/src/local` and `libs/api/src/local` lie at different depths below it. */
export const projectRoot = resolve(
  __dirname,
  __dirname.includes('/dist/') ? '../../../../..' : '../../../..',
);

/** The built program of a service. */
export function serviceProgram(name: string): string {
  return resolve(projectRoot, 'dist/services', name, 'src/main.js');
}
