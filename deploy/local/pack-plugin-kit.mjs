// Packs plugin-kit and the libs it needs into a package that installs outside of the repository: node
// deploy/local/pack-plugin-kit.mjs [--out <folder>] [--name @ui-rl/plugin-kit]. Prints the path of the tarball.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { relink, SPECIFIER } from './relink.mjs';
import { root } from './tools.mjs';

/** The exports of graph that losses and optimizers use; only their types, since they run inside the engine. */
const GRAPH_NAMES = ['ops', 'Value'];

function run(command, args, cwd) {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (result.status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed:\n${result.stdout}${result.stderr}`);
  return result.stdout;
}

function compile(folder) {
  const config = join(folder, 'tsconfig.json');
  const compilerOptions = {
    rootDir: join(root, 'libs'),
    outDir: folder,
    declaration: true,
    sourceMap: false,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    noEmit: false,
  };
  const files = [join(root, 'libs/plugin-kit/src/index.ts')];
  writeFileSync(
    config,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }),
  );
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], root);
  rmSync(config);
}

function* filesOf(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesOf(path);
    else yield path;
  }
}

function specifiersOf(text) {
  return [...text.matchAll(SPECIFIER)].map(([, , , specifier]) => specifier);
}

/** Keeps only the types of graph listed above, and those they depend on. */
function trimGraph(folder) {
  const graph = join(folder, 'graph');
  const index = join(graph, 'src/index.d.ts');
  const kept = readFileSync(index, 'utf8')
    .split(';')
    .filter((statement) => GRAPH_NAMES.some((name) => new RegExp(`\\b${name}\\b`).test(statement)));
  writeFileSync(index, `${kept.join(';').trim()};\n`);
  const needed = new Set([index]);
  for (const file of needed) {
    for (const specifier of specifiersOf(readFileSync(file, 'utf8'))) {
      const path = resolve(dirname(file), specifier);
      const found = [`${path}.d.ts`, join(path, 'index.d.ts')].find(existsSync);
      if (found !== undefined) needed.add(found);
    }
  }
  for (const file of filesOf(graph)) if (!needed.has(file)) rmSync(file);
}

/** Rewrites lib imports to paths within the package. Returns the npm packages that are needed. */
function relinkAll(folder) {
  const packages = new Set();
  for (const file of filesOf(folder)) {
    const text = relink(readFileSync(file, 'utf8'), file, (lib) => join(folder, lib, 'src/index'));
    writeFileSync(file, text);
    for (const specifier of specifiersOf(text)) {
      if (/^(\.|node:)/.test(specifier) || builtinModules.includes(specifier)) continue;
      const parts = specifier.split('/');
      packages.add(parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/'));
    }
  }
  return [...packages].toSorted((a, b) => a.localeCompare(b));
}

function manifest(name, packages) {
  const { version, license, engines, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const missing = packages.filter((each) => dependencies[each] === undefined);
  if (missing.length > 0)
    throw new Error(`plugin-kit imports ${missing.join(', ')}, which package.json does not name`);
  return {
    name,
    version,
    license,
    engines,
    description: 'Components for ui-rl: task sources, rewards, environments, losses, …',
    main: 'plugin-kit/src/index.js',
    types: 'plugin-kit/src/index.d.ts',
    dependencies: Object.fromEntries(packages.map((each) => [each, dependencies[each]])),
  };
}

function main() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: 'dist' },
      name: { type: 'string', default: '@ui-rl/plugin-kit' },
    },
  });
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'plugin-kit-'));
  try {
    compile(folder);
    trimGraph(folder);
    const packages = relinkAll(folder);
    writeFileSync(
      join(folder, 'package.json'),
      `${JSON.stringify(manifest(values.name, packages), null, 2)}\n`,
    );
    const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', out], folder));
    console.log(join(out, filename));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main();
