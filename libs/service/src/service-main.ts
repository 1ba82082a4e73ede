import { Logger } from '@nestjs/common';
import { BusService, describeError } from '@ui-rl/bus';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { logLevels, readServiceSettings, type ServiceSettings } from '@ui-rl/settings';
import { onStopSignal } from './stop-signal';

/** What a service is opened with. */
export interface ServiceContext {
  settings: ServiceSettings;
  /** What runs may choose: components of the project and of the modules that `UIRL_PLUGINS` names. */
  components: ComponentRegistry;
  /** Connected; it is closed after the service. */
  bus: BusService;
  /** Ends the process with an error that nothing else can be done about. */
  fail: (error: unknown) => void;
}

/** A service that works until it is closed. */
export interface RunningService {
  close(): Promise<unknown>;
}

/**
 * The life of a service's process: reads its settings from the environment, loads components, connects to NATS (waiting for it), opens the service,
 * and closes both in order on SIGTERM or SIGINT. What ends the start, or the process later, is logged, with exit code 1.
 */
export function serviceMain(name: string, open: (context: ServiceContext) => Promise<RunningService>): void {
  const stopping = new AbortController();
  const opened: RunningService[] = [];
  const fail = (error: unknown): void => {
    if (stopping.signal.aborted) return;
    const stack = error instanceof Error ? error.stack : undefined;
    new Logger(name).fatal(`the ${name} service ends: ${describeError(error)}`, stack);
    process.exit(1);
  };
  const start = async (): Promise<void> => {
    const settings = readServiceSettings(name);
    Logger.overrideLogger(logLevels(settings.logLevel));
    const components = await loadComponents({ packages: settings.plugins, service: name });
    const bus = await BusService.connect({ ...settings.nats, signal: stopping.signal });
    opened.push(bus);
    opened.push(await open({ settings, components, bus, fail }));
    bus.logger.log(`${name} ${bus.instance} is ready`);
  };
  onStopSignal(async () => {
    stopping.abort();
    for (const part of opened.toReversed()) await part.close();
  });
  start().catch(fail);
}
