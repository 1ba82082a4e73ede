const { relative, resolve } = require('node:path');
const long = require('./long-specs.json');

const ROOT = resolve(__dirname, '../..');
/** The complete runs among the long ones that every `npm test` includes. */
const ALWAYS = ['test/e2e/run.spec.ts'];

/** For `jest --filter`: all specs except the long ones. */
module.exports = (paths) => {
  const hidden = new Set(long.filter((path) => !ALWAYS.includes(path)));
  return { filtered: paths.filter((path) => !hidden.has(relative(ROOT, path))) };
};
