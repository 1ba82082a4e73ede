import assert from 'node:assert/strict';
import test from 'node:test';
import component from './index.js';

/** Evaluates the loss on numbers instead of graph values: a loss only uses `ops`. */
function lossOf(logprobs: number, inputs: { advantages: number; old_logprobs: number }) {
  const ops = {
    exp: Math.exp,
    min: Math.min,
    neg: (a: number) => -a,
    sub: (a: number, b: number) => a - b,
    mul: (a: number, b: number) => a * b,
  };
  const scalar = (value: number) => value;
  return component.create({ most: 2 }, {}).build({ ops, scalar, logprobs, inputs } as never).loss;
}

test('is the advantage, upside down, where the policy is as it was', () => {
  assert.equal(lossOf(-1, { advantages: 0.5, old_logprobs: -1 }), -0.5);
});

test('follows the ratio up to its bound', () => {
  assert.equal(lossOf(Math.log(0.5), { advantages: 1, old_logprobs: 0 }), -0.5);
  assert.equal(lossOf(3, { advantages: 1, old_logprobs: 0 }), -2);
});
