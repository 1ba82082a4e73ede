/* oxlint-disable no-underscore-dangle -- these are Node's names */
// Runs a thread's entry without a build: compiles TypeScript as it is required. Only for tests, which run the sources.
const Module = require('node:module');
const { join } = require('node:path');
const { workerData } = require('node:worker_threads');
const { transformFileSync } = require('@swc/core');

const libs = join(__dirname, '../../..');
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function resolve(request, ...rest) {
  const lib = /^@ui-rl\/([a-z-]+)$/.exec(request)?.[1];
  return resolveFilename.call(this, lib === undefined ? request : join(libs, lib, 'src/index.ts'), ...rest);
};

require.extensions['.ts'] = (module, file) => {
  const { code } = transformFileSync(file, {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
    swcrc: false,
  });
  module._compile(code, file);
};

require(workerData.entry);
