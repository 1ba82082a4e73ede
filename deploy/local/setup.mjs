// Prepares a fresh clone: packages, nats-server, Chromium, build; with `--tests` also the programs that only tests use. Skips steps
// that are done. Run by `npm run setup`.
import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { lockSetup } from './setup-lock.mjs';
import { ensureTestTools } from './test-tools.mjs';
import { ensureChromium, ensureNatsServer, root } from './tools.mjs';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Like `engines` of package.json: the oldest supported version of each release line. */
const OLDEST = { 20: 19, 22: 13, 24: 11 };

function checkNode() {
  const { node } = process.versions;
  const [major, minor] = node.split('.').map(Number);
  if (major > 24 || minor >= (OLDEST[major] ?? Infinity)) return;
  throw new Error(
    `Node ${node} does not work here: expected 20.19, 22.13, 24.11 or newer (https://nodejs.org)`,
  );
}

async function installPackages() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  const lock = join(root, 'package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  console.log('Installing packages …');
  // npm checks the digests of package-lock.json; .npmrc disables the packages' scripts.
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: 'inherit' });
  const failure = await endOf(npm);
  if (failure !== null) throw new Error(`npm ci ${failure}. npm run setup installs everything anew`);
}

/**
 * How a child failed, null on success. Ctrl-C kills it and waits for its exit: npm would take minutes to restore the
 * previous state, and the next setup reinstalls everything anyway.
 */
function endOf(child) {
  const stop = () => child.kill('SIGKILL');
  for (const signal of SIGNALS) process.on(signal, stop);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const each of SIGNALS) process.off(each, stop);
      resolve(code === 0 ? null : signal === null ? `ended with code ${code}` : 'was stopped');
    });
  });
}

/** Ensures everything that a run needs, with `tests` also what only tests use; prints the locations of programs. */
export async function setup({ tests = false } = {}) {
  checkNode();
  const unlock = await lockSetup();
  try {
    await installPackages();
    const tools = { natsServer: ensureNatsServer(), chromium: ensureChromium() };
    const all = tests ? ensureTestTools(tools) : tools;
    await build();
    return all;
  } finally {
    unlock();
  }
}

const HELP = `Usage: npm run setup [-- --tests]

Installs packages, nats-server and Chromium, and builds. Does only what is missing.

  --tests  also what only tests need: PostgreSQL, adb, Xvfb, a Vulkan driver in software, the pages of MiniWoB++`;

if (process.argv[1] === import.meta.filename) {
  try {
    const options = { tests: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } };
    const { values } = parseArgs({ options });
    if (values.help) {
      console.log(HELP);
      process.exit();
    }
    const tools = await setup(values);
    const locations = Object.entries(tools).map(([name, path]) => `${name}: ${path}`);
    console.log(`Ready. ${locations.join('; ')}`);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
