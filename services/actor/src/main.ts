import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BusService, describeError, onStopSignal } from '@ui-rl/bus';
import { logLevels, readServiceSettings } from '@ui-rl/settings';
import { ActorModule } from './actor.module';

/** Plays episodes. Waits for NATS and for a run. */
async function main(): Promise<void> {
  const settings = readServiceSettings('actor');
  Logger.overrideLogger(logLevels(settings.logLevel));
  const bus = await BusService.connect(settings.nats);
  const { run: runId, plugins } = settings;
  const app = await NestFactory.createApplicationContext(ActorModule.forRoot(bus, { runId, plugins }), {
    abortOnError: false,
  });
  onStopSignal(async () => {
    await app.close();
    await bus.close();
  });
}

main().catch((error: unknown) => {
  new Logger('actor').fatal(describeError(error));
  process.exit(1);
});
