import '@ui-rl/code-cache';
import 'reflect-metadata';
import { openApplication, serviceMain } from '@ui-rl/service';
import { SamplerModule } from './sampler.module';

/** Samples the policy for learners that only train. Waits for NATS and for a run. */
serviceMain('sampler', ({ bus, components, settings }) => {
  const { run: runId, hub, models, cacheDir } = settings;
  return openApplication(bus, SamplerModule.forRoot({ runId, components, hub, models, cacheDir }));
});
