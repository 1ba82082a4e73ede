import { resolve } from 'node:path';
import { projectRoot } from '@ui-rl/settings';

/** The built program of a service. @param file its main file */
export function serviceProgram(name: string, file = 'main'): string {
  return resolve(projectRoot, 'dist/services', name, 'src', `${file}.js`);
}
