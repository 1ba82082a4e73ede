/* oxlint-disable no-underscore-dangle -- these are Node's names */
// Runs worker.ts without a build: compiles TypeScript as it is required. Only for tests, which run the sources.
const { existsSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformFileSync } = require('@swc/core');

const libs = join(__dirname, '../..');
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

if (!existsSync(join(__dirname, 'worker.ts')))
  throw new Error(`${__dirname} holds neither worker.js nor worker.ts`);
require('./worker.ts');
