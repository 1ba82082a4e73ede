// Finds the programs that npm does not bring: nats-server and Chromium. Fetches a missing one, or says how to.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  copyFileSync,
  chmodSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const cache = join(root, '.cache', 'bin');

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function onPath(...names) {
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
    [join(cache, 'nats-server')].find(isExecutable)
  );
}

export function findChromium() {
  return (
    fromEnvironment('CHROMIUM_BIN') ??
    playwrightChromium() ??
    onPath('chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome')
  );
}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    ...options,
  });
  return result.status === 0;
}

const isRoot = () => process.getuid?.() === 0;

function aptInstall(...packages) {
  if (!isRoot() || !onPath('apt-get')) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () => run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env });
  return install() || (run('apt-get', ['update'], { env }) && install());
}

/** Unpacks the distribution's package into the cache; needs no root. */
function aptUnpackNats() {
  if (!onPath('apt-get') || !onPath('dpkg')) return false;
  const folder = mkdtempSync(join(tmpdir(), 'ui-rl-nats-'));
  try {
    if (!run('apt-get', ['download', 'nats-server'], { cwd: folder })) return false;
    const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
    if (!archive) return false;
    execFileSync('dpkg', ['-x', archive, 'out'], { cwd: folder });
    const binary = ['usr/sbin/nats-server', 'usr/bin/nats-server']
      .map((p) => join(folder, 'out', p))
      .find(existsSync);
    if (!binary) return false;
    mkdirSync(cache, { recursive: true });
    copyFileSync(binary, join(cache, 'nats-server'));
    chmodSync(join(cache, 'nats-server'), 0o755);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function ensure(name, find, fetchers, help) {
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
      aptUnpackNats,
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
      () => run(process.execPath, [playwright, 'install', 'chromium'], { timeout: 300_000 }),
      () => aptInstall('chromium', 'libvulkan1'),
    ],
    'Install it with one of\n' +
      '  npx playwright install --with-deps chromium\n' +
      '  sudo apt-get install chromium\n' +
      'or name an installed one: CHROMIUM_BIN=/path/to/chrome',
  );
}

/** The Vulkan loader lets the tests run the GPU code path in software; without it those tests say that they are skipped. */
export function ensureVulkanLoader() {
  const loaders = [
    '/usr/lib/x86_64-linux-gnu/libvulkan.so.1',
    '/usr/lib/aarch64-linux-gnu/libvulkan.so.1',
    '/usr/lib64/libvulkan.so.1',
  ];
  if (loaders.some(existsSync) || process.platform !== 'linux') return;
  if (!aptInstall('libvulkan1')) {
    console.log(
      'The Vulkan loader is missing, so the WebGPU tests will be skipped: sudo apt-get install libvulkan1',
    );
  }
}
