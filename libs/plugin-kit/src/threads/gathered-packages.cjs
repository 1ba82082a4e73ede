// Finds the packages that the build gathered into few files (deploy/local/gather-packages.mjs). Only for tests and programs of the
// repository, which load the sources: they start sooner so.
const { existsSync, statSync } = require('node:fs');
const { join, resolve } = require('node:path');

const root = resolve(__dirname, '../../../..');

/** What was gathered before packages were installed anew is not theirs. */
const current = madeAt('dist/.packages.stamp') > madeAt('node_modules/.package-lock.json');

function madeAt(name) {
  return statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const known = new Map();

/** @returns the file that stands for a module of a package, undefined where there is none */
module.exports = function gatheredPackage(request) {
  if (!current || !/^[a-z@]/.test(request)) return undefined;
  if (!known.has(request)) {
    const file = join(root, 'dist/packages', `${request}.js`);
    known.set(request, existsSync(file) ? file : undefined);
  }
  return known.get(request);
};
