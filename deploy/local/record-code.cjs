// Records what is loaded (libs/code-cache), in a process of its own. Nothing is connected to.
//   node record-code.cjs programs FOLDER SERVICE…
//   node record-code.cjs sources FOLDER
const { join } = require('node:path');
const ts = require('typescript');

const root = join(__dirname, '../..');
const dist = join(root, 'dist');
const { Recording } = require(join(dist, 'libs/code-cache/src/recording'));

const MAY_IMPORT = /\bimport\s*\(/;

/** Whether there is an `import()` in it that is neither in a comment nor in a string. */
function imports(source) {
  const isImport = (node) =>
    (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) ||
    ts.forEachChild(node, isImport) === true;
  return (
    MAY_IMPORT.test(source) && isImport(ts.createSourceFile('module.js', source, ts.ScriptTarget.Latest))
  );
}

async function loadPrograms(services) {
  for (const service of services) require(join(dist, 'services', service, 'src/main'));
  require(join(dist, 'services/cli/src/program')).programWith();
  const { loadComponents } = require(join(dist, 'libs/plugin-kit/src'));
  for (const service of services) await loadComponents({ packages: [], service });
}

/** What threads of the tests load, which run the sources. */
function loadSources() {
  require(join(root, 'libs/plugin-kit/src/threads/require-sources.cjs'));
  for (const name of ['engine/src/device-worker.ts', 'plugin-kit/src']) require(join(root, 'libs', name));
}

async function record(what, folder, ...services) {
  const recording = Recording.start(imports);
  await (what === 'sources' ? loadSources() : loadPrograms(services));
  recording.write(folder);
}

record(...process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
