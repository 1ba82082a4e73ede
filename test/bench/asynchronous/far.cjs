// The demo tasks in simulated remote browsers: every action takes longer, by 0.2 to 1 s unless configured otherwise.
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const built = (plugin) => require(join(__dirname, '../../../dist/plugins', plugin, 'src/index.js'));
const browser = built('env-browser').default;
const training = built('task-source-demo').components.find(({ name }) => name === 'demo_training');

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function uniforms(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function farAway(session, waitMs) {
  return {
    screenshot: session.screenshot,
    state: session.state,
    step: async (action, deadline) => {
      await sleep(waitMs());
      return session.step(action, deadline);
    },
    close: (deadline) => session.close(deadline),
    discard: () => session.discard(),
  };
}

const far = {
  kind: 'environment',
  name: 'far',
  description: 'Pages in headless Chromium whose actions take longer.',
  options: {
    least_ms: { type: 'number', description: 'the least that an action takes longer', default: 200 },
    most_ms: { type: 'number', description: 'the most', default: 1000 },
  },
  create: async ({ least_ms: least, most_ms: most }, context) => {
    const near = await browser.create(new browser.options(), context);
    return {
      open: async (options, deadline) => {
        const reply = await near.open(options, deadline);
        const next = uniforms(options.seed);
        return reply.ok
          ? { ok: true, value: farAway(reply.value, () => least + next() * (most - least)) }
          : reply;
      },
      close: () => near.close(),
    };
  },
};

const source = {
  kind: 'task-source',
  name: 'far_training',
  description: 'The training goals of the demo, far away.',
  options: training.options,
  create: (options, context) => {
    const near = training.create(options, context);
    const moved = ({ environment, ...task }) => ({ ...task, environment: { ...environment, kind: 'far' } });
    return { load: async () => (await near.load()).map(moved) };
  },
};

module.exports.components = [far, source];
