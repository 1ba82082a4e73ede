const { TestEnvironment } = require('jest-environment-node');

// Tests get a copy of the environment, which native code does not see.
process.env.ORT_DISABLE_TELEMETRY ??= '1';

/**
 * onnxruntime-node compares typed arrays with the constructors of the realm it was loaded in.
 * Jest runs tests in another realm, so the outer constructors are put into it, with the error that the outer DataView throws.
 */
module.exports = class OuterTypedArrays extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
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
};
