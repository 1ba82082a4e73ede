import assert from 'node:assert/strict';
import test from 'node:test';
import type { SampleResult, SamplerContext, SamplerRequest } from '@ui-rl/plugin-kit';
import component from './index.js';

const logged: string[] = [];
const released: string[] = [];
const answer: SampleResult = { tokens: [1, 2], logprobs: [-1, -2], stopReason: 'stop', digest: 'd' };

/** An engine with a slow `generate`. */
const context = {
  engine: {
    sample: () => new Promise((resolve) => setTimeout(() => resolve(answer), 20)),
    releaseWeights: async (weights: string) => void released.push(weights),
  },
  log: (_: string, message: string) => void logged.push(message),
} as unknown as SamplerContext;
const request = { model: 'policy' } as SamplerRequest;

test('answers as the engine does, and tells what was slow', async () => {
  const patient = await component.create({ slow_ms: 60_000 }, context);
  assert.equal(await patient.sample(request), answer);
  assert.deepEqual(logged, []);
  const strict = await component.create({ slow_ms: 1 }, context);
  assert.equal(await strict.sample(request), answer);
  assert.match(logged[0], /^2 tokens took [0-9]+ ms$/);
});

test('releases retired weights', async () => {
  const sampler = await component.create({ slow_ms: 1 }, context);
  await sampler.publish('weights-1');
  await sampler.retire('weights-1');
  assert.deepEqual(released, ['weights-1']);
  await sampler.stop();
});
