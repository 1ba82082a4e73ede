import type { Template } from '../template';

export const sampler: Template = {
  type: 'SamplerComponent',
  types: { test: ['SampleResult', 'SamplerContext', 'SamplerRequest'] },
  options: 'slow_ms: number;',
  description: 'Samples from the engine that trains, and tells which answers were slow.',
  members: `
  options: {
    slow_ms: { type: 'integer', default: 10000, atLeast: 1, description: 'answers that take longer are logged, in milliseconds' },
  },
  create: async ({ slow_ms: slowMs }, { engine, log }) => ({
    // Where others than the engine sample, they get the weights here: engine.exportWeights writes them.
    async publish() {},
    async sample(request) {
      const began = performance.now();
      const answer = await engine.sample(request);
      const took = Math.round(performance.now() - began);
      if (took > slowMs) log('warn', answer.tokens.length + ' tokens took ' + took + ' ms');
      return answer;
    },
    async retire(weights) {
      await engine.releaseWeights(weights);
    },
    async stop() {},
  }),`,
  test: `
const logged/*ts : string[]*/ = [];
const released/*ts : string[]*/ = [];
const answer/*ts : SampleResult*/ = { tokens: [1, 2], logprobs: [-1, -2], stopReason: 'stop', digest: 'd' };

/** An engine that takes a while. */
const context = {
  engine: {
    sample: () => new Promise((resolve) => setTimeout(() => resolve(answer), 20)),
    releaseWeights: async (weights/*ts : string*/) => void released.push(weights),
  },
  log: (_/*ts : string*/, message/*ts : string*/) => void logged.push(message),
}/*ts  as unknown as SamplerContext*/;
const request = { model: 'policy' }/*ts  as SamplerRequest*/;

test('answers as the engine does, and tells what was slow', async () => {
  const patient = await component.create({ slow_ms: 60_000 }, context);
  assert.equal(await patient.sample(request), answer);
  assert.deepEqual(logged, []);
  const strict = await component.create({ slow_ms: 1 }, context);
  assert.equal(await strict.sample(request), answer);
  assert.match(logged[0], /^2 tokens took [0-9]+ ms$/);
});

test('lets go of weights that nobody asks for any more', async () => {
  const sampler = await component.create({ slow_ms: 1 }, context);
  await sampler.publish('weights-1');
  await sampler.retire('weights-1');
  assert.deepEqual(released, ['weights-1']);
  await sampler.stop();
});`,
  choice: 'sampler: { name: NAME, slow_ms: 5000 }',
};
