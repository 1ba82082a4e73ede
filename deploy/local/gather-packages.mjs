// Gathers the npm packages that compiled code needs into a few files in dist/packages, and has that code name these: a process that
// would load a thousand small files loads some hundred, and starts in half the time.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { root } from './tools.mjs';

const dist = join(root, 'dist');
const gathered = join(dist, 'packages');
const stamp = join(dist, '.packages.stamp');

/** Find programs, libraries or data beside their own code, and so stay where npm has put them. */
const AT_HOME = ['onnxruntime-node', 'sharp', 'playwright', '@electric-sql/pglite', 'pg'];
/** Changes what is there for all: as a package of its own it is loaded before those that count on it. */
const FIRST = ['reflect-metadata'];
/** Are watched by what makes services crash (test/faults/crash-points.cjs), which reaches for what these do not export. */
const WATCHED = [
  '@nats-io/transport-node',
  '@nats-io/nats-core',
  '@nats-io/jetstream',
  '@nats-io/kv',
  '@nats-io/obj',
];
/** Are imported when they are needed as well: of two copies, what one is told the other does not know. */
const IMPORTED = ['@opentelemetry/api'];
const LEFT_ALONE = [...AT_HOME, ...FIRST, ...WATCHED, ...IMPORTED];
/** As the compiler writes them. What is imported when it is needed (`import()`) stays as it is. */
const REQUIRED = /\brequire\("([^"]+)"\)/g;

const packageOf = (id) =>
  id
    .split('/')
    .slice(0, id.startsWith('@') ? 2 : 1)
    .join('/');
const fileOf = (id) => join(gathered, `${id}.js`);

const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const isGathered = (id) => Object.hasOwn(dependencies, packageOf(id)) && !LEFT_ALONE.includes(packageOf(id));

function compiledFiles() {
  return ['services', 'libs', 'plugins']
    .map((name) => join(dist, name))
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.js'));
}

/** The package's module that a file requires, by its own name or by where it was gathered; null where it is none of these. */
function requiredModule(file, specifier) {
  if (isGathered(specifier)) return specifier;
  const path = relative(gathered, join(dirname(file), specifier));
  const outside = !specifier.startsWith('.') || path.startsWith('..');
  return outside ? null : path.replaceAll(sep, '/').replace(/\.js$/, '');
}

function requiredModules(files) {
  const found = files.flatMap(({ file, text }) =>
    [...text.matchAll(REQUIRED)].map(([, specifier]) => requiredModule(file, specifier)),
  );
  return [...new Set(found.filter((id) => id !== null && isGathered(id)))].toSorted((a, b) =>
    a.localeCompare(b),
  );
}

function link({ file, text }) {
  const linked = text.replaceAll(REQUIRED, (all, specifier) => {
    const id = requiredModule(file, specifier);
    if (id === null) return all;
    const place = isGathered(id) ? relative(dirname(file), fileOf(id)).replaceAll(sep, '/') : id;
    return `require("${place}")`;
  });
  if (linked !== text) writeFileSync(file, linked);
}

const requireOf = createRequire(join(root, 'package.json'));

function isEcmaScript(file) {
  if (/\.[cm]js$/.test(file)) return file.endsWith('.mjs');
  const manifest = findPackageJSON(dirname(file));
  return JSON.parse(readFileSync(manifest, 'utf8')).type === 'module';
}

function findPackageJSON(folder) {
  const manifest = join(folder, 'package.json');
  return existsSync(manifest) ? manifest : findPackageJSON(dirname(folder));
}

const ASKED = 'asked:';

/**
 * Where a bundle begins for a module, by the file that Node would take. That of CommonJS is asked for by a module of ours: to
 * rolldown 1.2, what begins a bundle is an ECMAScript module to all others that import it.
 */
function entryOf(id) {
  const file = requireOf.resolve(id);
  return isEcmaScript(file) ? file : `${ASKED}${file}`;
}

const askingModules = {
  name: 'asking-modules',
  resolveId: (id) => (id.startsWith(ASKED) ? id : null),
  load: (id) =>
    id.startsWith(ASKED) ? `module.exports = require(${JSON.stringify(id.slice(ASKED.length))});` : null,
};

async function gather(modules) {
  // A fresh clone has installed it by now.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: Object.fromEntries(modules.map((id) => [id, entryOf(id)])),
    plugins: [askingModules],
    cwd: root,
    platform: 'node',
    // What is not installed is optional to who asks for it.
    external: (id) => LEFT_ALONE.includes(packageOf(id)),
    logLevel: 'silent',
  });
  rmSync(gathered, { recursive: true, force: true });
  await bundle.write({
    dir: gathered,
    format: 'cjs',
    // Not `import()`, which Jest does not know.
    dynamicImportInCjs: false,
    // Nest tells classes apart by their names.
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
  });
  await bundle.close();
}

/** Of whatever the files would be made from: this program, the packages, the modules that are asked for. */
function fingerprint(modules) {
  const hash = createHash('sha256');
  for (const path of [import.meta.filename, join(root, 'node_modules/.package-lock.json')])
    hash.update(readFileSync(path));
  return hash.update(modules.join('\n')).digest('hex');
}

export async function gatherPackages() {
  const files = compiledFiles().map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  const modules = requiredModules(files);
  const print = fingerprint(modules);
  const current =
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === print &&
    modules.every((id) => existsSync(fileOf(id)));
  if (!current) {
    console.log('Gathering packages …');
    await gather(modules);
  }
  // Its time says that it is not older than what is installed.
  writeFileSync(stamp, print);
  for (const file of files) link(file);
}
