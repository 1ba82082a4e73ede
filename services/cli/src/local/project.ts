import { resolve } from 'node:path';

/** Folder of the clone: `dist/services/cli/src/local` and `services/cli/src/local` lie at different depths below it. */
export const projectRoot = resolve(
  __dirname,
  __dirname.includes('/dist/') ? '../../../../..' : '../../../..',
);
