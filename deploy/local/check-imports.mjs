// Enforces which lib may import which (see ARCHITECTURE in README.md). Run by `npm run imports`.
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const allowed = {
  contracts: [],
  bus: ['contracts'],
  settings: ['contracts'],
  'plugin-kit': ['contracts', 'actions'],
  actions: [],
  graph: [],
  models: ['graph'],
  engine: ['graph', 'models', 'algorithms'],
  algorithms: ['graph'],
  records: ['contracts'],
  testkit: '*',
};

function* sources(folder) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!['node_modules', 'dist', 'web'].includes(entry.name)) yield* sources(path);
    } else if (/\.(ts|tsx|mts)$/.test(entry.name)) {
      yield path;
    }
  }
}

/** Where a file belongs: `['libs', 'graph']`, `['services', 'actor']` … */
function owner(path) {
  return relative(root, path).split(sep).slice(0, 2);
}

function mayImport([kind, name], lib, isTest) {
  if (isTest && lib === 'testkit') return true;
  if (kind === 'services') return lib !== 'testkit';
  if (kind === 'plugins') return lib === 'plugin-kit';
  if (kind === 'test') return true;
  const rule = allowed[name];
  if (rule === undefined) return false;
  return rule === '*' || rule.includes(lib);
}

function problemsOf(path) {
  const problems = [];
  const own = owner(path);
  const isTest = path.endsWith('.spec.ts');
  const text = readFileSync(path, 'utf8');
  const pattern = /(?:from\s+|import\s*\(\s*|require\s*\(\s*|^\s*import\s+)['"]([^'"]+)['"]/gm;
  for (const [, target] of text.matchAll(pattern)) {
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

const problems = ['services', 'libs', 'plugins', 'test']
  .flatMap((folder) => [...sources(join(root, folder))])
  .flatMap(problemsOf);
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} imports cross a boundary`);
  process.exit(1);
}
