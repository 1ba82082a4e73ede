import '@ui-rl/code-cache';
import 'reflect-metadata';
import { openApplication, receiveRunFile, serviceMain } from '@ui-rl/service';
import { LearnerModule } from './learner.module';
import { LEARNER_USES } from './run-options';

/** Owns the device of a run: serves its policy and trains it. Waits for NATS and for a run. */
serviceMain('learner', ({ bus, components, settings, fail }) =>
  openApplication(
    bus,
    LearnerModule.forRoot(
      {
        runId: settings.run,
        components,
        machine: settings,
        optionsOf: ({ record }) =>
          receiveRunFile(record, LEARNER_USES, { bus, components, cacheDir: settings.cacheDir }),
        // Episodes that were not trained on are redelivered to the process that takes over.
        onFailure: fail,
      },
      settings.policyEndpoint,
    ),
  ),
);
