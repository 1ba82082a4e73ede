import assert from 'node:assert/strict';
import test from 'node:test';
import component from './index.js';

test('is the ratio, up to its bound', () => {
  const turn = {
    sampleLogprobs: new Float32Array([-1, -1, -4]),
    proximalLogprobs: new Float32Array([-1, -1 + Math.log(0.5), -1]),
  };
  const [weights] = component.create({ most: 2 }, {})?.weights([turn]) ?? [];
  assert.equal(weights.length, 3);
  [1, 0.5, 2].forEach((expected, token) => assert.ok(Math.abs(weights[token] - expected) < 1e-6));
});
