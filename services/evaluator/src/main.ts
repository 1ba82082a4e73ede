import '@ui-rl/code-cache';
import 'reflect-metadata';
import { openApplication, serviceMain } from '@ui-rl/service';
import { EvaluatorModule } from './evaluator.module';

/** Evaluates runs before, during and after training. Waits for NATS and for a run. */
serviceMain('evaluator', ({ bus, components, settings: { run: runId, cacheDir } }) =>
  openApplication(bus, EvaluatorModule.forRoot({ runId, components, cacheDir })),
);
