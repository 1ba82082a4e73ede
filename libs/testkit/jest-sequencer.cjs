// Not by `require`: the check of types would follow it to Jest's, and find fault with all programs that have none.
const { default: Sequencer } = module.require('@jest/test-sequencer');

/** Take longest, in turn what starts many processes and what keeps to its own. Begun last, they would be waited for. */
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

/** How long files take is known from the last time; in a fresh clone the long ones have to be named. */
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
