import '@ui-rl/code-cache';
import 'reflect-metadata';
import { openMicroservice, serviceMain } from '@ui-rl/service';
import { EnvModule } from './env.module';

/** Holds the sessions of environments: browsers, desktops, phones. Waits for NATS and for a run. */
serviceMain('env', ({ bus, components, settings }) => {
  const { run: runId, environments, chromiumBin, cacheDir, environmentEndpoint: serve } = settings;
  const programs = { chromium: chromiumBin };
  return openMicroservice(
    bus,
    EnvModule.forRoot({ runId, environments, components, programs, cacheDir, serve }),
  );
});
