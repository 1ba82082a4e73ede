const vm = require('node:vm');

const { compileFunction } = vm;
/** File → its most recently compiled source and function in this process. */
const compiled = new Map();

/**
 * Each test file loads its modules anew, and Jest compiles each of them again: a quarter of the cost of a small test
 * file. A script that is compiled once, and run in the realm of each test file, gives equivalent functions.
 */
vm.compileFunction = (source, parameters, options = {}) => {
  const { filename, parsingContext, importModuleDynamically } = options;
  if (filename === undefined || parsingContext === undefined) {
    return compileFunction(source, parameters, options);
  }
  let module = compiled.get(filename);
  if (module?.source !== source) {
    module = new CompiledModule(source, parameters, filename);
    compiled.set(filename, module);
  }
  module.importModuleDynamically = importModuleDynamically;
  return module.script.runInContext(parsingContext);
};

class CompiledModule {
  constructor(source, parameters, filename) {
    this.source = source;
    const head = `(function (${parameters.join(', ')}) {`;
    this.script = new vm.Script(`${head}${source}\n})`, {
      filename,
      // Keeps the positions in stack traces.
      columnOffset: -head.length,
      // One test file runs at a time, so `import()` uses the latest one's.
      importModuleDynamically: (...request) => this.importModuleDynamically(...request),
    });
  }
}
