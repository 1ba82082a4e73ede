// Gathers the npm packages that compiled code needs into a few files in dist/packages, and has that code name these: a process that
// would load a thousand small files loads some hundred, and starts in half the time.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { root } from './tools.mjs';

const dist = join(root, 'dist');
const gathered = join(dist, 'packages');
const stamp = join(dist, '.packages.stamp');

/** Stay where npm has put them: they find programs, libraries or data beside their own code. */
const LEFT_ALONE = ['onnxruntime-node', 'sharp', 'playwright', '@electric-sql/pglite', 'pg'];
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
  return [...new Set(found.filter((id) => id !== null))].toSorted((a, b) => a.localeCompare(b));
}

function link({ file, text }) {
  const linked = text.replaceAll(REQUIRED, (all, specifier) => {
    if (!isGathered(specifier)) return all;
    return `require("${relative(dirname(file), fileOf(specifier)).replaceAll(sep, '/')}")`;
  });
  if (linked !== text) writeFileSync(file, linked);
}

const ASKED = 'asked:';

/** Modules are had by `require`, so that of a package that comes in two forms the one is taken that Node would take. */
const asCompiledCodeAsks = {
  name: 'as-compiled-code-asks',
  resolveId: (id) => (id.startsWith(ASKED) ? id : null),
  load: (id) =>
    id.startsWith(ASKED) ? `module.exports = require(${JSON.stringify(id.slice(ASKED.length))});` : null,
};

async function gather(modules) {
  // A fresh clone has installed it by now.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: Object.fromEntries(modules.map((id) => [id, `${ASKED}${id}`])),
    plugins: [asCompiledCodeAsks],
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
  for (const path of [import.meta.filename, join(root, 'package-lock.json')]) hash.update(readFileSync(path));
  return hash.update(modules.join('\n')).digest('hex');
}

export async function gatherPackages() {
  const files = compiledFiles().map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  const modules = requiredModules(files);
  const print = fingerprint(modules);
  const current =
    existsSync(stamp) && readFileSync(stamp, 'utf8') === print && modules.every((id) => existsSync(fileOf(id)));
  if (!current) {
    console.log('Gathering packages …');
    await gather(modules);
    writeFileSync(stamp, print);
  }
  for (const file of files) link(file);
}
