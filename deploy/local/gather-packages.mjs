// Bundles the npm packages of compiled code into a few files in dist/packages, and rewrites that code to require
// these: a process then loads a hundred files instead of a thousand, and starts in half the time.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { root } from './tools.mjs';

const dist = join(root, 'dist');
const gathered = join(dist, 'packages');
const stamp = join(dist, '.packages.stamp');

/** Packages that locate programs, libraries or data relative to their own code, so they stay in node_modules. */
const AT_HOME = ['onnxruntime-node', 'sharp', 'playwright', '@electric-sql/pglite', 'pg'];
/** Modifies globals: as a separate bundle it loads before its users. */
const FIRST = ['reflect-metadata'];
/** Packages that test/faults/crash-points.cjs patches; it accesses modules that these do not export. */
const WATCHED = [
  '@nats-io/transport-node',
  '@nats-io/nats-core',
  '@nats-io/jetstream',
  '@nats-io/kv',
  '@nats-io/obj',
];
/** Packages that are also imported dynamically: two copies would not share state. */
const IMPORTED = ['@opentelemetry/api'];
const LEFT_ALONE = [...AT_HOME, ...FIRST, ...WATCHED, ...IMPORTED];
/** As emitted by the compiler. Dynamic imports (`import()`) are unchanged. */
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

/** The bundled package module that a file requires, by its own name or by its bundle path; null if it is not one. */
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
 * The entry of a bundle for a module, by the file that Node would load. A CommonJS module is required from a wrapper:
 * rolldown 1.2 treats a bundle's entry as an ECMAScript module for all other importers.
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
  // Imported here: a fresh clone has installed it by now.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: Object.fromEntries(modules.map((id) => [id, entryOf(id)])),
    plugins: [askingModules],
    cwd: root,
    platform: 'node',
    // A package that is not installed is optional for its importer.
    external: (id) => LEFT_ALONE.includes(packageOf(id)),
    logLevel: 'silent',
  });
  rmSync(gathered, { recursive: true, force: true });
  await bundle.write({
    dir: gathered,
    format: 'cjs',
    // Jest does not support `import()`.
    dynamicImportInCjs: false,
    // Nest identifies classes by name.
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
  });
  await bundle.close();
}

/** Fingerprint of all inputs: this program, the packages, the required modules. */
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
  // The stamp's modification time must not be older than the installed packages.
  writeFileSync(stamp, print);
  for (const file of files) link(file);
}
