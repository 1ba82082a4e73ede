import 'reflect-metadata';
import { openApplication, serviceMain } from '@ui-rl/service';
import { parseRunFile } from '@ui-rl/settings';
import { LearnerModule } from './learner.module';
import { learnerOptions } from './run-options';

/** Owns the device of a run: answers with its policy and trains it. Waits for NATS and for a run. */
serviceMain('learner', ({ bus, components, settings, fail }) =>
  openApplication(
    bus,
    LearnerModule.forRoot({
      runId: settings.run,
      components,
      optionsOf: ({ record }) =>
        learnerOptions(parseRunFile(record.config, components, `run ${record.runId}`), settings),
      // Episodes that were not trained yet come again to the process that takes over.
      onFailure: fail,
    }),
  ),
);
