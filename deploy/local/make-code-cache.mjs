// Records what V8 compiles of the built files and where their imports lead (libs/code-cache): programs start in half the time.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tools.mjs';

const dist = join(root, 'dist');
const stamp = join(dist, '.code-cache.stamp');
const file = join(dist, 'code-cache.bin');

/** Of what was built, and of the Node that it was built for. */
function fingerprint() {
  const hash = createHash('sha256').update(`${process.version} ${process.arch}`);
  for (const name of ['.services.stamp', '.packages.stamp']) hash.update(readFileSync(join(dist, name)));
  return hash.digest('hex');
}

export function makeCodeCache() {
  const print = fingerprint();
  const made = existsSync(stamp) && readFileSync(stamp, 'utf8') === print;
  if (made && existsSync(file)) return;
  console.log('Building code-cache …');
  // What the old one gives would not be recorded.
  rmSync(file, { force: true });
  const services = readdirSync(join(dist, 'services')).filter((name) => name !== 'cli');
  // The services that are loaded shall find no broker to connect to.
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, 'deploy/local/record-code.cjs'), ...services],
    {
      env: { PATH: process.env.PATH, NATS_URL: 'nats://127.0.0.1:1' },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(`Building code-cache failed:\n${stderr}`);
  writeFileSync(stamp, print);
}
