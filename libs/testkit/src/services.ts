import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Launched } from './processes';

const ROOT = resolve(__dirname, '../../..');

/** Starts a built service (`npm run build` first) with nothing of this process's environment but PATH and HOME. */
export function startService(name: string, env: Record<string, string>, args: string[] = []): Launched {
  const main = join(ROOT, 'dist', 'services', name, 'src', 'main.js');
  if (!existsSync(main)) throw new Error(`${main} does not exist: run "npm run build" first`);
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/tmp' };
  return Launched.start(process.execPath, [main, ...args], { cwd: ROOT, env: { ...inherited, ...env } });
}

/** Starts a service from its sources, as it is now; slower to start than a built one, but there is nothing to build. */
export function startFromSource(name: string, env: Record<string, string>): Launched {
  const runner = join(ROOT, 'libs', 'testkit', 'run-ts.cjs');
  const main = join(ROOT, 'services', name, 'src', 'main.ts');
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/tmp' };
  return Launched.start(process.execPath, [runner, main], { cwd: ROOT, env: { ...inherited, ...env } });
}
