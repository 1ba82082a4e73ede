// Not by `require`: type checking would follow it into Jest's types, and report errors for programs without them.
const { default: Sequencer } = module.require('@jest/test-sequencer');

/**
 * The longest test files, alternating between those that start many processes and those that run in one. If they
 * started last, the run would wait for them.
 */
const LONG = [
  'test/faults/kill.spec.ts',
  'libs/api/src/try/try-page.spec.ts',
  'libs/api/src/try/hostile-pages.spec.ts',
  'test/docs/commands.spec.ts',
  'libs/engine/src/webgpu.spec.ts',
  'test/e2e/run.spec.ts',
  'test/fuzz/fuzz.spec.ts',
  'test/faults/goes-on.spec.ts',
  'libs/plugin-kit/src/pack.spec.ts',
  'test/docs/scripts.spec.ts',
  'plugins/env-browser/src/hostile.spec.ts',
  'plugins/env-browser/src/faults.spec.ts',
  'services/task-loader/src/task-loader.spec.ts',
  'test/deploy/package.spec.ts',
  'test/e2e/',
  'libs/engine/src/passes/layer-by-layer.spec.ts',
  'services/learner/src/resume.spec.ts',
  'test/',
  'libs/records/src/records.spec.ts',
  'services/learner/',
  'plugins/env-desktop/',
  'services/monitor/',
  'libs/models/src/families/golden.spec.ts',
  'plugins/task-source-demo/src/pocket.spec.ts',
  'services/cli/',
  'libs/api/',
];

/** Jest knows the duration of files from the previous run; in a fresh clone the long ones must be listed. */
module.exports = class LongFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isNew = ({ duration }) => duration === undefined;
    const fresh = sorted.filter(isNew).toSorted((a, b) => rankOf(a) - rankOf(b));
    return [...fresh, ...sorted.filter((test) => !isNew(test))];
  }
};

function rankOf({ path, context }) {
  const found = LONG.findIndex((name) => path.startsWith(`${context.config.rootDir}/${name}`));
  return found === -1 ? LONG.length : found;
}
