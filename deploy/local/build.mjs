// Compiles services, libs and plugins into dist/, with their packages and an empty database, and the monitor's page
// into dist/monitor-web; skips parts that are up to date.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gatherPackages } from './gather-packages.mjs';
import { makeEmptyDatabase } from './make-empty-database.mjs';
import { relink, REQUIRED, SPECIFIER } from './relink.mjs';
import { root } from './tools.mjs';

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') yield* files(path);
    } else yield path;
  }
}

/** Changes whenever a source file does: path, size and modification time of each. */
function fingerprint(paths) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((p) =>
    statSync(p).isDirectory() ? [...files(p)].toSorted((a, b) => a.localeCompare(b)) : [p],
  )) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function buildUnlessCurrent(name, sources, output, command, afterwards) {
  const stamp = join(root, 'dist', `.${name}.stamp`);
  const print = fingerprint(sources.map((source) => join(root, source)));
  if (existsSync(join(root, output)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === print) return;
  console.log(`Building ${name} …`);
  const [file, ...args] = command;
  const result = spawnSync(process.execPath, [join(root, 'node_modules', file), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (result.status !== 0) throw new Error(`Building ${name} failed:\n${result.stdout}`);
  mkdirSync(join(root, 'dist'), { recursive: true });
  afterwards?.();
  writeFileSync(stamp, print);
}

const BUILT = /\.(js(\.map)?|d\.ts)$/;

/** Removes build output of deleted sources: if a module has become a folder, Node would still find the old file. */
function removeOrphans() {
  const dist = join(root, 'dist');
  const built = ['services', 'libs', 'plugins'].map((name) => join(dist, name)).filter(existsSync);
  for (const path of built.flatMap((folder) => [...files(folder)])) {
    const source = join(root, relative(dist, path)).replace(BUILT, '.ts');
    if (BUILT.test(path) && !existsSync(source)) rmSync(path);
  }
}

/** The compiler does not resolve the aliases of libs. */
function relinkAll() {
  const dist = join(root, 'dist');
  for (const file of ['services', 'libs', 'plugins'].flatMap((name) => [...files(join(dist, name))])) {
    if (!/\.(js|d\.ts)$/.test(file)) continue;
    const text = readFileSync(file, 'utf8');
    const pattern = file.endsWith('.js') ? REQUIRED : SPECIFIER;
    const linked = relink(text, file, (lib) => join(dist, 'libs', lib, 'src/index'), pattern);
    if (linked !== text) writeFileSync(file, linked);
  }
}

export async function build() {
  if (!existsSync(join(root, 'node_modules')))
    throw new Error('Packages are not installed here: npm run setup first');
  removeOrphans();
  buildUnlessCurrent(
    'services',
    ['services', 'libs', 'plugins', 'tsconfig.json', 'tsconfig.build.json'],
    'dist/libs/api/src/index.d.ts',
    ['typescript/bin/tsc', '-p', 'tsconfig.build.json'],
    relinkAll,
  );
  buildUnlessCurrent(
    'plugin-templates',
    ['libs/api/templates', 'deploy/local/build-templates.mjs'],
    'dist/plugin-templates',
    ['../deploy/local/build-templates.mjs'],
  );
  await gatherPackages();
  await makeEmptyDatabase();
  buildUnlessCurrent('monitor-web', ['services/monitor/web'], 'dist/monitor-web/index.html', [
    'vite/bin/vite.js',
    'build',
    '--config',
    'services/monitor/web/vite.config.mts',
    '--logLevel',
    'warn',
  ]);
}

if (process.argv[1] === import.meta.filename) {
  try {
    await build();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
