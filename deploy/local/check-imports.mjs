// Enforces which lib may import which (the table in docs/concepts/architecture.md), and that files do not import each
// other in a circle, types included. Run by `npm run imports`.
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** Lib → the libs it may import, or `*`. */
const allowed = JSON.parse(readFileSync(join(root, 'deploy/local/import-table.json'), 'utf8'));

function* sources(folder) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!['node_modules', 'dist'].includes(entry.name)) yield* sources(path);
    } else if (/\.(ts|tsx|mts)$/.test(entry.name)) {
      yield path;
    }
  }
}

/** The owner of a file: `['libs', 'graph', 'src']`, `['services', 'actor', 'test']` … */
function owner(path) {
  return relative(root, path).split(sep).slice(0, 3);
}

/** Libs of generated pages, which the plugin that opens these pages needs. */
const PAGE_LIBS = ['page-generator', 'page-tasks'];

function mayImport([kind, name], lib, isTest) {
  if (isTest && lib === 'testkit') return true;
  if (kind === 'services') return lib !== 'testkit';
  if (kind === 'plugins')
    return lib === 'plugin-kit' || (PAGE_LIBS.includes(lib) && name === 'env-generated-pages');
  if (kind === 'test') return true;
  const rule = allowed[name];
  if (rule === undefined) return false;
  return rule === '*' ? lib !== 'testkit' : rule.includes(lib);
}

/** Import specifiers of a file. */
function targetsOf(path) {
  const text = readFileSync(path, 'utf8');
  const pattern = /(?:from\s+|import\s*\(\s*|require\s*\(\s*|^\s*import\s+)['"]([^'"]+)['"]/gm;
  return [...text.matchAll(pattern)].map(([, target]) => target);
}

function problemsOf(path) {
  const problems = [];
  const own = owner(path);
  const isTest = path.endsWith('.spec.ts') || owner(path)[2] === 'test';
  for (const target of targetsOf(path)) {
    const lib = /^@ui-rl\/(.+)$/.exec(target)?.[1];
    if (lib !== undefined) {
      if (lib.includes('/'))
        problems.push(`imports "${target}": only the public index of a lib may be imported`);
      else if (lib === own[1] && own[0] === 'libs')
        problems.push(`imports its own lib through "${target}": use a relative path`);
      else if (!mayImport(own, lib, isTest))
        problems.push(`imports "${target}", which ${own.join('/')} may not`);
    } else if (target.startsWith('.')) {
      const to = owner(resolve(dirname(path), target));
      if (own[0] !== 'test' && (to[0] !== own[0] || to[1] !== own[1])) {
        problems.push(`imports "${target}", which lies in ${to.join('/')}`);
      }
    }
  }
  return problems.map((problem) => `${relative(root, path)} ${problem}`);
}

/** The source file of an import; undefined for a package. */
function fileOf(target, from) {
  const lib = /^@ui-rl\/(.+)$/.exec(target)?.[1];
  if (lib === undefined && !target.startsWith('.')) return undefined;
  const path = lib === undefined ? resolve(dirname(from), target) : join(root, 'libs', lib, 'src');
  const candidates = [path, `${path}.ts`, `${path}.tsx`, `${path}.mts`, join(path, 'index.ts')];
  return candidates.find((each) => importsOf.has(each));
}

/** Shortest import path from one file back to itself. */
function circleThrough(start) {
  const cameFrom = new Map();
  const queue = [start];
  for (const file of queue) {
    for (const next of importsOf.get(file)) {
      if (next === start) return pathTo(file, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

function pathTo(file, cameFrom) {
  const path = [];
  for (let at = file; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
  return path;
}

/** Import circles, each file in at most one of them. */
function circles() {
  const reported = new Set();
  return [...importsOf.keys()].flatMap((file) => {
    const circle = reported.has(file) ? undefined : circleThrough(file);
    for (const each of circle ?? []) reported.add(each);
    return circle === undefined ? [] : [circle];
  });
}

function circleProblem(circle) {
  const names = [...circle, circle[0]].map((path) => relative(root, path));
  return `${names[0]} imports itself in a circle: ${names.join(' → ')}`;
}

const files = ['services', 'libs', 'plugins', 'test'].flatMap((folder) => [...sources(join(root, folder))]);
const importsOf = new Map(files.map((file) => [file, []]));
for (const file of files) {
  importsOf.set(
    file,
    targetsOf(file).flatMap((target) => fileOf(target, file) ?? []),
  );
}
/** Libs that may still contain circles. */
const pending = new Set(['engine']);
const found = circles().filter((circle) => !circle.every((file) => pending.has(owner(file)[1])));
const problems = [...files.flatMap(problemsOf), ...found.map(circleProblem)];
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} imports cross a boundary or close a circle`);
  process.exit(1);
}
