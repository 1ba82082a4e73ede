import '@ui-rl/code-cache';
import 'reflect-metadata';
import { openApplication, serviceMain } from '@ui-rl/service';
import { ActorModule } from './actor.module';

/** Plays episodes. Waits for NATS and for a run. */
serviceMain('actor', ({ bus, components, settings: { run: runId, cacheDir, agentEndpoint } }) =>
  openApplication(bus, ActorModule.forRoot({ runId, components, cacheDir }, agentEndpoint)),
);
