import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { BusService, describeError, serveOnBus } from '@ui-rl/bus';
import { logLevels, readServiceSettings } from '@ui-rl/settings';
import { EnvModule } from './env.module';

/** Holds the sessions of environments: browsers, desktops, phones. Waits for NATS and for a run. */
async function main(): Promise<void> {
  const settings = readServiceSettings('env');
  Logger.overrideLogger(logLevels(settings.logLevel));
  const bus = await BusService.connect(settings.nats);
  const { run: runId, environments, plugins, chromiumBin } = settings;
  await serveOnBus({ bus, module: EnvModule.forRoot({ runId, environments, plugins, chromiumBin }) });
}

main().catch((error: unknown) => {
  new Logger('env').fatal(`the env service ends: ${describeError(error)}`);
  process.exit(1);
});
