import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { describeError, onStopSignal } from '@ui-rl/bus';
import { logLevels, readServiceSettings } from '@ui-rl/settings';
import { startMonitor } from './server';

/** Records what the other services publish and serves the page. Waits for NATS. */
async function main(): Promise<void> {
  const settings = readServiceSettings('monitor');
  Logger.overrideLogger(logLevels(settings.logLevel));
  const monitor = await startMonitor({
    ...settings.monitor,
    bus: settings.nats,
    database: settings.database,
  });
  new Logger('monitor').log(`listening at ${monitor.url}`);
  onStopSignal(() => monitor.close());
}

main().catch((error: unknown) => {
  new Logger('monitor').fatal(describeError(error));
  process.exit(1);
});
