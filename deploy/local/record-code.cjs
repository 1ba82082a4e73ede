// Records what the programs of the project load (libs/code-cache), in a process of its own. Nothing is connected to.
const { join } = require('node:path');
const ts = require('typescript');

const dist = join(__dirname, '../../dist');
const { Recording } = require(join(dist, 'libs/code-cache/src/recording'));
const services = process.argv.slice(2);

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

async function load() {
  for (const service of services) require(join(dist, 'services', service, 'src/main'));
  require(join(dist, 'services/cli/src/program')).programWith();
  const { loadComponents } = require(join(dist, 'libs/plugin-kit/src'));
  for (const service of services) await loadComponents({ packages: [], service });
}

const recording = Recording.start(imports);
load().then(
  () => {
    recording.write(dist);
    process.exit(0);
  },
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
