import assert from 'node:assert/strict';
import test from 'node:test';
import { createHash } from 'node:crypto';
import component from './index.js';

const context = { pages: {}, maxSessions: 2, programs: {}, log: () => undefined };
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };
const task = { description: 'Click once' };

async function open(seed: number) {
  const environment = await component.create({ width: 40, height: 50 }, context);
  const reply = await environment.open({ task, seed }, deadline);
  assert.ok(reply.ok);
  return reply.value;
}

test('the same seed gives the same first frame', async () => {
  const [first, again, another] = [await open(4), await open(4), await open(5)];
  assert.equal(first.screenshot.sha256, again.screenshot.sha256);
  assert.notEqual(first.screenshot.sha256, another.screenshot.sha256);
  const { png, sha256 } = first.screenshot;
  assert.equal(createHash('sha256').update(png).digest('hex'), sha256);
});

test('a click changes screen and state, anything else says what is wrong', async () => {
  const session = await open(0);
  const clicked = await session.step({ action: 'click', x: 1, y: 2 }, deadline);
  assert.ok(clicked.ok);
  assert.equal(clicked.value.outcome, 'ok');
  assert.notEqual(clicked.value.screenshot.sha256, session.screenshot.sha256);
  const waited = await session.step({ action: 'wait', seconds: 1 }, deadline);
  assert.ok(waited.ok);
  assert.equal(waited.value.outcome, 'unsupported_action');
  assert.deepEqual(await session.close(deadline), { ok: true, value: { clicks: 1 } });
});
