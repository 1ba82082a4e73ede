import assert from 'node:assert/strict';
import test from 'node:test';
import component from './index.js';

test('follows the gradient, and what is left of the velocity', () => {
  const weight = new Float32Array([1, -1]);
  const gradient = new Float32Array([2, 0]);
  const state = { velocity: new Float32Array(2) };
  const optimizer = component.create({ decay: 0.5 }, {});
  const given = { name: 'w', shape: [2], weight, gradient, state };
  optimizer.update(given, { step: 1, learningRate: 0.25, gradientScale: 1 });
  assert.deepEqual(weight, new Float32Array([0.5, -1]));
  optimizer.update(given, { step: 2, learningRate: 0.25, gradientScale: 1 });
  assert.deepEqual(weight, new Float32Array([-0.25, -1]));
  assert.deepEqual(state.velocity, new Float32Array([3, 0]));
});
