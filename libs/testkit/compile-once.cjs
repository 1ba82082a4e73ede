const vm = require('node:vm');

const { compileFunction } = vm;
/** By file, what was compiled of it last in this process. */
const compiled = new Map();

/**
 * Each test file loads its modules anew, and Jest has each of them compiled anew: a quarter of what a small test file costs. A script
 * that is compiled once, and run in the realm of each test file, gives the same functions.
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
      // Positions in stack traces are those of the file.
      columnOffset: -head.length,
      // One test file runs at a time: `import()` is that of the latest.
      importModuleDynamically: (...request) => this.importModuleDynamically(...request),
    });
  }
}
