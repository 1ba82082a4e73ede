import assert from 'node:assert/strict';
import test from 'node:test';
import type { Episode } from '@ui-rl/plugin-kit';
import component from './index.js';

const context = { log: () => undefined };
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };
const observation = { sha256: 'a'.repeat(64), width: 160, height: 224, png: async () => new Uint8Array() };

const episode = (stateAfter: Record<string, unknown> | null): Episode => ({
  task: { description: 'Open the settings' },
  seed: 0,
  status: 'completed',
  turns: [],
  finalObservation: observation,
  stateBefore: null,
  stateAfter,
});

test('says whether the screen is open, or that it cannot tell', async () => {
  const verifier = component.create({ screen: 'settings' }, context);
  assert.equal(await verifier.verify(episode({ screen: 'settings' }), deadline), true);
  assert.equal(await verifier.verify(episode({ screen: 'home' }), deadline), false);
  assert.equal(await verifier.verify(episode({}), deadline), false);
  assert.equal(await verifier.verify(episode(null), deadline), null);
});
