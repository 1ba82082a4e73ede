// Records what V8 compiles of modules and where their imports lead (libs/code-cache): programs start in two thirds of the time.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tools.mjs';

const dist = join(root, 'dist');

/** Of what the services and the command line load, as it was built. */
export function makeCodeCache() {
  const services = readdirSync(join(dist, 'services')).filter((name) => name !== 'cli');
  record('code-cache', dist, ['programs', dist, ...services]);
}

/** Of what threads load that run the sources: only tests have such. Text that has changed since does not count. */
export function makeTestCodeCache() {
  const folder = join(root, '.cache');
  record('code-cache for tests', folder, ['sources', folder]);
}

function record(name, folder, args) {
  const file = join(folder, 'code-cache.bin');
  const stamp = join(folder, '.code-cache.stamp');
  const print = fingerprint();
  const made = existsSync(stamp) && readFileSync(stamp, 'utf8') === print;
  if (made && existsSync(file)) return;
  console.log(`Building ${name} …`);
  // What the old one gives would not be recorded.
  rmSync(file, { force: true });
  const program = join(root, 'deploy/local/record-code.cjs');
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
    // The services that are loaded shall find no broker to connect to.
    env: { PATH: process.env.PATH, NATS_URL: 'nats://127.0.0.1:1' },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`Building ${name} failed:\n${stderr}`);
  writeFileSync(stamp, print);
}

/** Of what was built, and of the Node that it was built for. */
function fingerprint() {
  const hash = createHash('sha256').update(`${process.version} ${process.arch}`);
  for (const name of ['.services.stamp', '.packages.stamp']) hash.update(readFileSync(join(dist, name)));
  return hash.digest('hex');
}
