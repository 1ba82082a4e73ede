import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { essentials, Launched } from './processes';

const ROOT = resolve(__dirname, '../../..');

/** Starts a built service (`npm run build` first) with only the essential environment variables. */
export function startService(name: string, env: Record<string, string>, args: string[] = []): Launched {
  const main = join(ROOT, 'dist', 'services', name, 'src', 'main.js');
  if (!existsSync(main)) throw new Error(`${main} does not exist: run "npm run build" first`);
  return Launched.start(process.execPath, [main, ...args], { cwd: ROOT, env: { ...essentials(), ...env } });
}

/** Starts a service from its current sources; slower to start than a built one, but needs no build. */
export function startFromSource(name: string, env: Record<string, string>): Launched {
  const runner = join(ROOT, 'libs', 'testkit', 'run-ts.cjs');
  const main = join(ROOT, 'services', name, 'src', 'main.ts');
  return Launched.start(process.execPath, [runner, main], { cwd: ROOT, env: { ...essentials(), ...env } });
}
