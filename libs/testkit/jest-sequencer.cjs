// Not by `require`: type checking would follow it into Jest's types, and report errors for programs without them.
const { default: Sequencer } = module.require('@jest/test-sequencer');
const { relative } = require('node:path');
const long = require('./long-specs.json');

/**
 * Jest knows the duration of files from the previous run; in a fresh clone the long ones start first, because
 * otherwise the run would wait for them at the end.
 */
module.exports = class LongFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isNew = ({ duration }) => duration === undefined;
    const fresh = sorted.filter(isNew).toSorted((a, b) => rankOf(a) - rankOf(b));
    return [...fresh, ...sorted.filter((test) => !isNew(test))];
  }
};

function rankOf({ path, context }) {
  const found = long.indexOf(relative(context.config.rootDir, path));
  return found === -1 ? long.length : found;
}
