import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BusService, describeError, onStopSignal } from '@ui-rl/bus';
import { logLevels, readServiceSettings } from '@ui-rl/settings';
import { EvaluatorModule } from './evaluator.module';

/** Evaluates runs before, during and after training. Waits for NATS and for a run. */
async function main(): Promise<void> {
  const settings = readServiceSettings('evaluator');
  Logger.overrideLogger(logLevels(settings.logLevel));
  const bus = await BusService.connect(settings.nats);
  const { run: runId, plugins } = settings;
  const app = await NestFactory.createApplicationContext(EvaluatorModule.forRoot(bus, { runId, plugins }), {
    abortOnError: false,
  });
  onStopSignal(async () => {
    await app.close();
    await bus.close();
  });
}

main().catch((error: unknown) => {
  new Logger('evaluator').fatal(describeError(error));
  process.exit(1);
});
