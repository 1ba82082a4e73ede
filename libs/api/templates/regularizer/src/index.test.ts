import assert from 'node:assert/strict';
import test from 'node:test';
import component from './index.js';

/** Evaluates the regularizer on numbers instead of graph values: a regularizer only uses `ops`. */
function costOf(entropy: number) {
  const ops = {
    max: Math.max,
    sub: (a: number, b: number) => a - b,
    mul: (a: number, b: number) => a * b,
  };
  const terms = { ops, scalar: (value: number) => value, entropy: () => entropy };
  return component.create({ coef: 2, floor: 0.5 }, {}).build(terms as never).loss;
}

test('costs what is lacking, and nothing above', () => {
  assert.equal(costOf(0.25), 0.5);
  assert.equal(costOf(0.5), 0);
  assert.equal(costOf(2), 0);
});
