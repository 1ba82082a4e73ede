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
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Everything the set-up fetches lies here. An installed package may be another user's, and is replaced by the next version. */
export const cache = resolve(process.env.UIRL_CACHE_DIR || (isClone() ? join(root, '.cache') : userCache()));
const binaries = join(cache, 'bin');
/** Of a program that fetches something. */
const FETCH_TIMEOUT_MS = 600_000;
const SAID_LINES = 6;

/** No package ever holds npm's lock file. */
function isClone() {
  return existsSync(join(root, 'package-lock.json'));
}

function userCache() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ui-rl');
}

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

/** Whether the program ended well; what it says of a failure is shown, unless it is `quiet`: another way is tried then. */
export function run(command, args, { quiet = false, ...options } = {}) {
  const { status, signal, stderr, error } = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: FETCH_TIMEOUT_MS,
    ...options,
  });
  if (status === 0) return true;
  // Ctrl-C: no other way is tried.
  if (signal === 'SIGINT' || status === 130) throw new Error(`Stopped while ${command} was at work`);
  if (!quiet) {
    const said = error?.message ?? stderr.trim().split('\n').slice(-SAID_LINES).join('\n  ');
    console.error(`  ${command} ${args.join(' ')} failed:\n  ${said}`);
  }
  return false;
}

const isRoot = () => process.getuid?.() === 0;

/** A way to fetch something: `by` says it to whoever watches, `can` whether this machine has what it takes, `fetch` whether it went well. */

/** Installs the distribution's packages, which it has signed: on Debian, for root. */
export function byAptInstall(...packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = (options) =>
    run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env, ...options });
  return {
    by: `apt-get install ${packages.join(' ')}`,
    can: () => isRoot() && onPath('apt-get') !== undefined,
    fetch: () => install({ quiet: true }) || (run('apt-get', ['update'], { env }) && install()),
  };
}

/**
 * Downloads the distribution's packages without what they depend on, unpacks them and lets `take` have the folder.
 * Needs no root: where the lists of packages are missing or old, it fetches lists of its own.
 */
export function byAptUnpack(packages, take) {
  return {
    by: `apt-get download ${packages.join(' ')}, unpacked into ${cache}`,
    can: () => onPath('apt-get') !== undefined && onPath('dpkg') !== undefined,
    fetch: () => aptUnpack(packages, take),
  };
}

function aptUnpack(packages, take) {
  const folder = mkdtempSync(join(tmpdir(), 'ui-rl-apt-'));
  try {
    // Who downloads for root is a user without rights.
    chmodSync(folder, 0o755);
    // apt makes the folders of its own lists and cache, but no folder around them.
    for (const name of ['lists/partial', 'cache/archives/partial'])
      mkdirSync(join(folder, name), { recursive: true });
    const own = [`Dir::State::Lists=${join(folder, 'lists')}`, `Dir::Cache=${join(folder, 'cache')}`];
    const privately = own.flatMap((setting) => ['-o', setting]);
    const download = (options, how) =>
      run('apt-get', [...options, 'download', ...packages], { cwd: folder, ...how });
    const fetched =
      download([], { quiet: true }) || (run('apt-get', [...privately, 'update']) && download(privately));
    if (!fetched) return false;
    for (const archive of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      execFileSync('dpkg', ['-x', archive, 'out'], { cwd: folder });
    }
    return take(join(folder, 'out'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function byBrew(name) {
  return {
    by: `brew install ${name}`,
    can: () => onPath('brew') !== undefined,
    fetch: () => run('brew', ['install', name]),
  };
}

/** Of this download there is no digest to compare with: it is trusted for the server's certificate. */
const byPlaywright = {
  by: 'playwright install chromium, from its own servers',
  can: () => true,
  fetch() {
    const cli = join(dirname(createRequire(import.meta.url).resolve('playwright/package.json')), 'cli.js');
    if (!run(process.execPath, [cli, 'install', 'chromium'])) return false;
    const chromium = playwrightChromium();
    // What it needs of the system it does not bring.
    return chromium !== undefined && run(chromium, ['--version'], { timeout: 30_000 });
  },
};

function keepNatsServer(folder) {
  const binary = ['usr/sbin/nats-server', 'usr/bin/nats-server'].map((p) => join(folder, p)).find(existsSync);
  if (!binary) return false;
  mkdirSync(binaries, { recursive: true });
  copyFileSync(binary, join(binaries, 'nats-server'));
  chmodSync(join(binaries, 'nats-server'), 0o755);
  return true;
}

/** What `find` finds, at the latest after one of `ways` to fetch it; throws with `help` where none brings it. */
export function ensure(name, find, ways, help) {
  const found = find();
  if (found) return found;
  for (const { by, can, fetch } of ways) {
    if (!can()) continue;
    console.error(`${name} is not installed; fetching it: ${by} …`);
    if (fetch() && find()) return find();
  }
  throw new Error(`${name} was not found and could not be fetched.\n${help}`);
}

export function ensureNatsServer() {
  return ensure(
    'nats-server',
    findNatsServer,
    // Not by `apt-get install`: that starts a broker of the whole machine, with the system.
    [byAptUnpack(['nats-server'], keepNatsServer), byBrew('nats-server')],
    'Install it with one of\n' +
      '  sudo apt-get install nats-server\n' +
      '  brew install nats-server\n' +
      '  https://github.com/nats-io/nats-server/releases  (unpack, then NATS_SERVER_BIN=/path/to/nats-server)',
  );
}

export function ensureChromium() {
  return ensure(
    'Chromium',
    findChromium,
    // Its sandbox is only recommended by Debian's package.
    [byAptInstall('chromium', 'chromium-sandbox'), byPlaywright],
    'Install it with one of\n' +
      '  npx playwright install --with-deps chromium\n' +
      '  sudo apt-get install chromium\n' +
      'or name an installed one: CHROMIUM_BIN=/path/to/chrome',
  );
}
