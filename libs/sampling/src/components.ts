import type { SamplerComponent } from '@ui-rl/plugin-kit';
import { SamplingError } from './errors';
import { ExternalSampler } from './external-sampler';
import { ExternalSamplerOptions } from './options';
import { baseScores } from './scores';

const external: SamplerComponent<ExternalSamplerOptions> = {
  kind: 'sampler',
  name: 'external',
  description:
    'Samples from processes of the service sampler, here and on other machines (ui-rl up --samplers 2); the engine trains only.',
  options: ExternalSamplerOptions,
  conflicts: (_options, { model, engine }) => [
    ...(model.use_lora === true
      ? []
      : ['sampler external needs model.use_lora true: what samplers fetch for each version is an adapter']),
    ...(engine.name === 'local'
      ? []
      : [
          `sampler external needs engine local: samplers load the model as it does, and ${String(engine.name)} keeps its weights to itself`,
        ]),
  ],
  async create(options, context) {
    const { processes } = context;
    if (processes === undefined)
      throw new SamplingError('request', 'sampler external is for runs: nothing connects samplers here');
    // Before training starts, because the call would wait for it.
    const scores = await baseScores(context.engine, context.probes());
    return new ExternalSampler(options, { ...context, processes, baseScores: scores });
  },
};

/** The components of this lib. */
export const components = [external] as const;
