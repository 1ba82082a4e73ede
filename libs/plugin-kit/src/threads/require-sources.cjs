// oxlint-disable no-underscore-dangle -- Node's hooks are named so
// Lets `require` load the TypeScript sources of the project without a build. Only for tests and programs of the repository. What was
// compiled is kept in .cache/compiled, one file for each source, as long as the source stays as it is: hundreds of threads and
// processes of a test run load the same files.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join, relative, resolve } = require('node:path');
const { threadId } = require('node:worker_threads');
const gatheredPackage = require('./gathered-packages.cjs');

const root = resolve(__dirname, '../../../..');
const options = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: 'es2022',
    keepClassNames: true,
  },
  module: { type: 'commonjs', ignoreDynamic: true },
  swcrc: false,
};
const compiler = `${require('@swc/core/package.json').version} ${JSON.stringify(options)}`;

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  const lib = /^@ui-rl\/([a-z-]+)$/.exec(request)?.[1];
  if (lib !== undefined) return resolveFilename.call(this, join(root, 'libs', lib, 'src'), ...rest);
  return gatheredPackage(request) ?? resolveFilename.call(this, request, ...rest);
};

Module._extensions['.ts'] = (module, file) => module._compile(compiled(file), file);

function compiled(file) {
  const source = readFileSync(file, 'utf8');
  const stamp = `// ${createHash('sha256').update(`${compiler}\0${source}`).digest('hex')}\n`;
  // Also of what lies elsewhere: nothing is written there.
  const kept = join(root, '.cache/compiled', `${relative(root, file).replaceAll('..', '__')}.js`);
  const found = readIfThere(kept);
  if (found?.startsWith(stamp)) return found;
  // Loaded where it is needed: it takes its time.
  const { code } = require('@swc/core').transformSync(source, { ...options, filename: file });
  // Others may write the same file meanwhile: a whole one takes its place.
  const written = `${kept}.${process.pid}-${threadId}`;
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(written, stamp + code);
  renameSync(written, kept);
  return stamp + code;
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
