// Packs a lib and the libs it needs into a package that installs outside of the repository: node
// deploy/local/pack-lib.mjs plugin-kit|engine [--out <folder>] [--name <package>]. Prints the path of the tarball.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
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

/** Entry modules, the first of which is the package's, and what the package says of itself. */
const LIBS = {
  'plugin-kit': {
    entries: ['plugin-kit/src/index.ts'],
    description: 'Components for ui-rl: task sources, rewards, environments, losses, …',
    /** The exports of graph that losses and optimizers use; only their types, since they run inside the engine. */
    graphNames: ['ops', 'Value'],
  },
  engine: {
    entries: ['engine/src/package.ts', 'engine/src/worker.ts'],
    description: 'Train and sample vision-language models in Node.js',
    readme: 'engine/package/README.md',
  },
};

function run(command, args, cwd) {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (result.status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed:\n${result.stdout}${result.stderr}`);
  return result.stdout;
}

function compile(folder, entries) {
  const config = join(folder, 'tsconfig.json');
  const compilerOptions = {
    rootDir: root,
    outDir: folder,
    declaration: true,
    sourceMap: false,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    noEmit: false,
  };
  const files = entries.map((entry) => join(root, 'libs', entry));
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

/** Keeps only the types of these exports of graph, and those they depend on. */
function trimGraph(folder, names) {
  const graph = join(folder, 'libs/graph');
  const index = join(graph, 'src/index.d.ts');
  const kept = readFileSync(index, 'utf8')
    .split(';')
    .filter((statement) => names.some((name) => new RegExp(`\\b${name}\\b`).test(statement)));
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
    const text = relink(readFileSync(file, 'utf8'), file, (lib) => join(folder, 'libs', lib, 'src/index'));
    writeFileSync(file, text);
    for (const specifier of specifiersOf(text)) {
      if (/^(\.|node:)/.test(specifier) || builtinModules.includes(specifier)) continue;
      const parts = specifier.split('/');
      packages.add(parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/'));
    }
  }
  return [...packages].toSorted((a, b) => a.localeCompare(b));
}

function manifest(name, { entries: [entry], description }, packages) {
  const { version, license, engines, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const missing = packages.filter((each) => dependencies[each] === undefined);
  if (missing.length > 0)
    throw new Error(`${entry} imports ${missing.join(', ')}, which package.json does not name`);
  const main = `libs/${entry.replace(/\.ts$/, '')}`;
  return {
    name,
    version,
    license,
    engines,
    description,
    main: `${main}.js`,
    types: `${main}.d.ts`,
    dependencies: Object.fromEntries(packages.map((each) => [each, dependencies[each]])),
  };
}

function main() {
  const { values, positionals } = parseArgs({
    options: { out: { type: 'string', default: 'dist' }, name: { type: 'string' } },
    allowPositionals: true,
  });
  const [lib] = positionals;
  if (positionals.length !== 1 || !Object.hasOwn(LIBS, lib))
    throw new Error(`found "${positionals.join(' ')}", expected one of ${Object.keys(LIBS).join(', ')}`);
  const { entries, graphNames, readme } = LIBS[lib];
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), `${lib}-`));
  try {
    compile(folder, entries);
    if (graphNames !== undefined) trimGraph(folder, graphNames);
    const packages = relinkAll(folder);
    const text = JSON.stringify(manifest(values.name ?? `@ui-rl/${lib}`, LIBS[lib], packages), null, 2);
    writeFileSync(join(folder, 'package.json'), `${text}\n`);
    if (readme !== undefined) copyFileSync(join(root, 'libs', readme), join(folder, 'README.md'));
    const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', out], folder));
    console.log(join(out, filename));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main();
