// Finds the programs that npm does not install: nats-server and Chromium. Downloads a missing one, or prints
// instructions.
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
/**
 * The folder of all downloads. An installed package may belong to another user, and the next version replaces it, so
 * a package does not store them in its own folder.
 */
export const cache = resolve(process.env.UIRL_CACHE_DIR || (isClone() ? join(root, '.cache') : userCache()));
const binaries = join(cache, 'bin');
/** Time limit of a download program. */
const FETCH_TIMEOUT_MS = 600_000;
const SAID_LINES = 6;

/** A published package never contains npm's lock file. */
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

/**
 * A program named by an environment variable must exist: a wrong path is an error, not a reason to search elsewhere.
 */
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

/** Whether the program succeeded. Shows its output on failure, unless `quiet` because another way is tried next. */
export function run(command, args, { quiet = false, ...options } = {}) {
  const { status, signal, stderr, error } = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: FETCH_TIMEOUT_MS,
    ...options,
  });
  if (status === 0) return true;
  // Ctrl-C: do not try another way.
  if (signal === 'SIGINT' || status === 130) throw new Error(`Stopped while ${command} was at work`);
  if (!quiet) {
    const said = error?.message ?? stderr.trim().split('\n').slice(-SAID_LINES).join('\n  ');
    console.error(`  ${command} ${args.join(' ')} failed:\n  ${said}`);
  }
  return false;
}

const isRoot = () => process.getuid?.() === 0;

/**
 * A way to obtain something: `by` describes it, `can` tells whether this machine supports it, `fetch` returns whether
 * it succeeded.
 */

/** Installs the distribution's signed packages: on Debian, as root. */
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
 * Downloads the distribution's packages without dependencies, unpacks them and passes the folder to `take`. Needs no
 * root: if the package lists are missing or old, it downloads its own.
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
    // When root downloads, apt uses an unprivileged user.
    chmodSync(folder, 0o755);
    // apt creates the subfolders of its lists and cache, but not their parents.
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

/** There is no known digest of this download: it relies on the server's certificate. */
const byPlaywright = {
  by: 'playwright install chromium, from its own servers',
  can: () => true,
  fetch() {
    const cli = join(dirname(createRequire(import.meta.url).resolve('playwright/package.json')), 'cli.js');
    if (!run(process.execPath, [cli, 'install', 'chromium'])) return false;
    const chromium = playwrightChromium();
    // Playwright does not install the system libraries it needs.
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

/** The result of `find`, after trying the `ways` to obtain it if necessary; throws with `help` if none succeeds. */
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
    // Not by `apt-get install`, which would start a system-wide broker as a service.
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
    // Debian's package only recommends the sandbox.
    [byAptInstall('chromium', 'chromium-sandbox'), byPlaywright],
    'Install it with one of\n' +
      '  npx playwright install --with-deps chromium\n' +
      '  sudo apt-get install chromium\n' +
      'or name an installed one: CHROMIUM_BIN=/path/to/chrome',
  );
}
