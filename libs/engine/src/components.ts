import type { EngineComponent, SamplerComponent } from '@ui-rl/plugin-kit';
import type * as LocalEngineModule from './local-engine';
import { LocalEngineOptions } from './local-options';

/** ONNX Runtime in a thread of this process. */
const local: EngineComponent<LocalEngineOptions> = {
  kind: 'engine',
  name: 'local',
  description: 'Samples and trains on one device of this machine, with ONNX Runtime.',
  options: LocalEngineOptions,
  conflicts: ({ quantization }, { model }, path) =>
    quantization === 'none' || model.use_lora === true || path === 'teacher.engine'
      ? []
      : [`quantization ${quantization} needs model.use_lora true: what is trained cannot be quantized`],
  create(options, context) {
    // oxlint-disable-next-line typescript/no-require-imports -- loads the model runtime only in processes that run
    // models
    const { startFromRunFile } = require('./local-engine') as typeof LocalEngineModule;
    return startFromRunFile(options, context);
  },
};

/** The engine already holds the weights that were saved for sampling. */
const engine: SamplerComponent = {
  kind: 'sampler',
  name: 'engine',
  description: 'Samples from the engine that trains.',
  create: (_options, { engine: training }) =>
    Promise.resolve({
      publish: () => Promise.resolve(),
      sample: ({ episode: _episode, conversation: _conversation, ...request }) => training.sample(request),
      ...(training.moveSamples === undefined
        ? {}
        : { move: (from: string, to: string) => training.moveSamples!({ from, to }) }),
      retire: (weights) => training.releaseWeights(weights),
      stop: () => Promise.resolve(),
    }),
};

/** The components of this lib. */
export const components = [local, engine] as const;
