const { TestEnvironment } = require('jest-environment-node');
const Leftovers = require('./leftovers.cjs');
const { factor } = require('./time-limits.json');
require('./compile-once.cjs');

// Tests get a copy of the environment, which native code does not see.
process.env.ORT_DISABLE_TELEMETRY ??= '1';

/**
 * Gives each test file its own temporary folder, and fails the file if it leaves files or processes behind.
 *
 * Time limits in specs are those of an idle machine. They are multiplied by the factor of time-limits.json, because
 * CI may run several workers on two slow cores. The limits of `eventually` are as well.
 *
 * onnxruntime-node compares typed arrays with the constructors of the realm it was loaded in. Jest runs tests in
 * another realm, so this adds the outer constructors to it, with the error that the outer DataView throws.
 */
module.exports = class Environment extends TestEnvironment {
  constructor(config, context) {
    const leftovers = new Leftovers();
    super(config, context);
    this.leftovers = leftovers;
    for (const name of [
      'ArrayBuffer',
      'SharedArrayBuffer',
      'DataView',
      'Int8Array',
      'Uint8Array',
      'Uint8ClampedArray',
      'Int16Array',
      'Uint16Array',
      'Int32Array',
      'Uint32Array',
      'BigInt64Array',
      'BigUint64Array',
      'Float32Array',
      'Float64Array',
      'RangeError',
    ]) {
      this.global[name] = globalThis[name];
    }
  }

  async handleTestEvent({ name }, state) {
    if (name === 'run_start') state.testTimeout *= factor;
    if (name === 'add_hook') extend(state.currentDescribeBlock.hooks.at(-1));
    if (name === 'add_test') extend(state.currentDescribeBlock.tests.at(-1));
    if (name !== 'run_finish') return;
    const found = await this.leftovers.end();
    if (found !== null) state.unhandledErrors.push([found, undefined]);
  }

  async teardown() {
    await this.leftovers.end();
    await super.teardown();
  }
};

/** Extends the time limit of a hook or test that has one of its own. */
function extend(limited) {
  if (limited.timeout !== undefined) limited.timeout *= factor;
}
