// oxlint-disable no-underscore-dangle -- Node's hooks are named so
// Lets a child process of a test run TypeScript sources: `node run-ts.cjs file.ts`.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join, resolve } = require('node:path');
const { transformSync } = require('@swc/core');

const root = resolve(__dirname, '../..');
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  const lib = /^@ui-rl\/([a-z-]+)$/.exec(request)?.[1];
  return resolveFilename.call(this, lib === undefined ? request : join(root, 'libs', lib, 'src'), ...rest);
};
Module._extensions['.ts'] = (module, file) => {
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    filename: file,
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
    },
    module: { type: 'commonjs', ignoreDynamic: true },
  });
  module._compile(code, file);
};
// The file stands where it would stand if Node had been called with it.
process.argv.splice(1, 1);
require(resolve(process.argv[1]));
