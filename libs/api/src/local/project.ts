import { resolve } from 'node:path';
import { projectRoot } from '@ui-rl/settings';

/** The built program of a service. */
export function serviceProgram(name: string): string {
  return resolve(projectRoot, 'dist/services', name, 'src/main.js');
}
