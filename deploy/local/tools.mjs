// Finds the programs that npm does not bring: nats-server and Chromium. Fetches a missing one, or says how to.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Everything the set-up fetches lies here. */
export const cache = resolve(process.env.UIRL_CACHE_DIR || join(root, '.cache'));
const binaries = join(cache, 'bin');

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function onPath(...names) {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .concat('/usr/sbin', '/usr/local/sbin', '/usr/local/bin');
  for (const name of names) {
    const found = folders.map((folder) => join(folder, name)).find(isExecutable);
    if (found) return found;
  }
  return undefined;
}

/** A program named by an environment variable must exist: a wrong path is an error, not a reason to look elsewhere. */
function fromEnvironment(variable) {
  const path = process.env[variable];
  if (!path) return undefined;
  if (!isExecutable(path)) throw new Error(`${variable}=${path} is not an executable file`);
  return path;
}

function playwrightChromium() {
  const folder = process.env.PLAYWRIGHT_BROWSERS_PATH || join(homedir(), '.cache', 'ms-playwright');
  if (!existsSync(folder)) return undefined;
  const builds = readdirSync(folder)
    .filter((name) => /^chromium-\d+$/.test(name))
    .sort()
    .reverse();
  return builds
    .flatMap((name) =>
      ['chrome-linux64/chrome', 'chrome-linux/chrome', 'chrome-mac/Chromium.app/Contents/MacOS/Chromium'].map(
        (p) => join(folder, name, p),
      ),
    )
    .find(isExecutable);
}

export function findNatsServer() {
  return (
    fromEnvironment('NATS_SERVER_BIN') ??
    onPath('nats-server') ??
    [join(binaries, 'nats-server')].find(isExecutable)
  );
}

export function findChromium() {
  return (
    fromEnvironment('CHROMIUM_BIN') ??
    playwrightChromium() ??
    onPath('chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome')
  );
}

export function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    ...options,
  });
  return result.status === 0;
}

const isRoot = () => process.getuid?.() === 0;

/** Installs the distribution's packages; false where this is not Debian, or not root. */
export function aptInstall(...packages) {
  if (!isRoot() || !onPath('apt-get')) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () => run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env });
  return install() || (run('apt-get', ['update'], { env }) && install());
}

/**
 * Downloads the distribution's packages without what they depend on, unpacks them and lets `take` have the folder.
 * Needs no root: where the lists of packages are missing or old, it fetches lists of its own.
 */
export function aptUnpack(packages, take) {
  if (!onPath('apt-get') || !onPath('dpkg')) return false;
  const folder = mkdtempSync(join(tmpdir(), 'ui-rl-apt-'));
  try {
    const own = [`Dir::State::Lists=${join(folder, 'lists')}`, `Dir::Cache=${join(folder, 'cache')}`];
    const privately = own.flatMap((setting) => ['-o', setting]);
    const download = (...options) => run('apt-get', [...options, 'download', ...packages], { cwd: folder });
    if (!download() && !(run('apt-get', [...privately, 'update']) && download(...privately))) return false;
    for (const archive of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      execFileSync('dpkg', ['-x', archive, 'out'], { cwd: folder });
    }
    return take(join(folder, 'out'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function keepNatsServer(folder) {
  const binary = ['usr/sbin/nats-server', 'usr/bin/nats-server'].map((p) => join(folder, p)).find(existsSync);
  if (!binary) return false;
  mkdirSync(binaries, { recursive: true });
  copyFileSync(binary, join(binaries, 'nats-server'));
  chmodSync(join(binaries, 'nats-server'), 0o755);
  return true;
}

/** What `find` finds, at the latest after one of `fetchers`; throws with `help` where none brings it. */
export function ensure(name, find, fetchers, help) {
  const found = find();
  if (found) return found;
  console.log(`${name} is not installed; fetching it …`);
  for (const fetch of fetchers) {
    if (fetch() && find()) return find();
  }
  throw new Error(`${name} was not found and could not be fetched.\n${help}`);
}

export function ensureNatsServer() {
  return ensure(
    'nats-server',
    findNatsServer,
    [
      () => aptUnpack(['nats-server'], keepNatsServer),
      () => aptInstall('nats-server'),
      () => onPath('brew') !== undefined && run('brew', ['install', 'nats-server']),
    ],
    'Install it with one of\n' +
      '  sudo apt-get install nats-server\n' +
      '  brew install nats-server\n' +
      '  https://github.com/nats-io/nats-server/releases  (unpack, then NATS_SERVER_BIN=/path/to/nats-server)',
  );
}

export function ensureChromium() {
  const playwright = join(root, 'node_modules', 'playwright', 'cli.js');
  return ensure(
    'Chromium',
    findChromium,
    [
      // The distribution signs what it brings; of Playwright's own download there is no digest to compare with.
      () => aptInstall('chromium'),
      () => run(process.execPath, [playwright, 'install', 'chromium'], { timeout: 300_000 }),
    ],
    'Install it with one of\n' +
      '  npx playwright install --with-deps chromium\n' +
      '  sudo apt-get install chromium\n' +
      'or name an installed one: CHROMIUM_BIN=/path/to/chrome',
  );
}
