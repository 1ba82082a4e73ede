import type { SamplerComponent } from '@ui-rl/plugin-kit';

interface Options {
  slow_ms: number;
}

const component: SamplerComponent<Options> = {
  kind: 'sampler',
  name: 'my-component',
  description: 'Samples from the training engine, and logs slow answers.',
  options: {
    slow_ms: {
      type: 'integer',
      default: 10000,
      atLeast: 1,
      description: 'log answers that take longer than this many milliseconds',
    },
  },
  create: async ({ slow_ms: slowMs }, { engine, log }) => ({
    // A sampler outside the engine gets the weights here: engine.exportWeights writes them.
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
  }),
};

export default component;
