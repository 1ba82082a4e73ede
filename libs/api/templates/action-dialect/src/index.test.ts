import assert from 'node:assert/strict';
import test from 'node:test';
import type { Action } from '@ui-rl/plugin-kit';
import component from './index.js';

const sizes = { screenshot: { width: 160, height: 224 }, modelImage: { width: 80, height: 112 } };
const dialect = component.create({}, {});
const answers: [string, Action][] = [
  ['click 10 200', { action: 'click', x: 10, y: 200 }],
  ['done', { action: 'finish', success: true }],
];

test('reads the actions that it writes', () => {
  for (const [answer, action] of answers) {
    assert.equal(dialect.format([action], sizes), answer);
    assert.deepEqual(dialect.parse(answer, sizes), { ok: true, actions: [action] });
    assert.match(answer, new RegExp('^(' + dialect.grammar?.(sizes) + ')$'));
  }
});

test('an unreadable answer is a value with a correction', () => {
  for (const text of ['', 'click', 'click 1 2 3', 'I click 1 2']) {
    const parsed = dialect.parse(text, sizes);
    assert.equal(parsed.ok, false);
    assert.match(JSON.stringify(parsed), /click X Y/);
  }
});

test('refuses actions that it cannot express', () => {
  assert.throws(() => dialect.format([{ action: 'wait', seconds: 1 }], sizes), RangeError);
});
