import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BusService, describeError, onStopSignal } from '@ui-rl/bus';
import { logLevels, readServiceSettings } from '@ui-rl/settings';
import { TaskLoaderModule } from './task-loader.module';

/** Feeds runs with tasks. Waits for NATS and for a run. */
async function main(): Promise<void> {
  const settings = readServiceSettings('task-loader');
  Logger.overrideLogger(logLevels(settings.logLevel));
  const bus = await BusService.connect(settings.nats);
  const { run: runId, plugins } = settings;
  const app = await NestFactory.createApplicationContext(TaskLoaderModule.forRoot(bus, { runId, plugins }), {
    abortOnError: false,
  });
  onStopSignal(async () => {
    await app.close();
    await bus.close();
  });
}

main().catch((error: unknown) => {
  new Logger('task-loader').fatal(describeError(error));
  process.exit(1);
});
