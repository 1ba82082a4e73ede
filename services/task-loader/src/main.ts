import '@ui-rl/code-cache';
import 'reflect-metadata';
import { openApplication, serviceMain } from '@ui-rl/service';
import { TaskLoaderModule } from './task-loader.module';

/** Provides runs with tasks. Waits for NATS and for a run. */
serviceMain('task-loader', ({ bus, components, settings: { run: runId, cacheDir } }) =>
  openApplication(bus, TaskLoaderModule.forRoot({ runId, components, cacheDir })),
);
