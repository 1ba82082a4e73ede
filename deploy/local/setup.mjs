// Makes a fresh clone ready: packages, nats-server, Chromium, build; with `--tests` also what only tests need. Does only what is
// missing. `npm run setup`.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { makeTestCodeCache } from './make-code-cache.mjs';
import { ensureTestTools } from './test-tools.mjs';
import { ensureChromium, ensureNatsServer, root } from './tools.mjs';

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(
      `Node ${process.versions.node} is too old: 20.19 or newer is needed (https://nodejs.org)`,
    );
  }
}

function installPackages() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  const lock = join(root, 'package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  console.log('Installing packages …');
  // With the digests of package-lock.json; .npmrc keeps packages from running scripts.
  const options = { cwd: root, stdio: 'inherit' };
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], options);
  if (result.status !== 0) throw new Error('npm ci failed; see its output above');
}

/** Makes sure of everything a run needs, with `tests` also of what only tests use; prints where the programs are. */
export async function setup({ tests = false } = {}) {
  checkNode();
  installPackages();
  const tools = { natsServer: ensureNatsServer(), chromium: ensureChromium() };
  const all = tests ? ensureTestTools(tools) : tools;
  await build();
  if (tests) makeTestCodeCache();
  return all;
}

if (process.argv[1] === import.meta.filename) {
  try {
    const { values } = parseArgs({ options: { tests: { type: 'boolean' } } });
    const tools = await setup(values);
    const locations = Object.entries(tools).map(([name, path]) => `${name}: ${path}`);
    console.log(`Ready. ${locations.join('; ')}`);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
