import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { loadComponents, withoutUrlSecrets, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { DEADLINES, describeError, waitAtMost } from '@ui-rl/retry';
import { logLevels, readServiceSettings, type ServiceSettings } from '@ui-rl/settings';
import { PrintableLogger } from './printable-logger';
import { portOf, serveHealth, type Progress } from './health';
import { onStopSignal } from './stop-signal';
import { startTracing } from './tracing';

/** The dependencies of a service. */
export interface ServiceContext {
  settings: ServiceSettings;
  /** Components that runs may choose: bundled ones and those of the modules in `UIRL_PLUGINS`. */
  components: ComponentRegistry;
  /** Connected; it is closed after the service. */
  bus: BusService;
  /** Aborts when the service is asked to stop during its start; what was opened is then closed. */
  signal: AbortSignal;
  /** Ends the process with an unrecoverable error. */
  fail: (error: unknown) => void;
}

/** A service that works until it is closed. */
export interface RunningService {
  close(): Promise<unknown>;
}

/**
 * The lifecycle of a service's process: reads its settings from the environment, loads components, waits for NATS,
 * opens the service, and closes both in order on SIGTERM or SIGINT. Logs an error that ends the start, or the process
 * later, and exits with code 1.
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
  const progress: Progress = { service: name, waits: 'to load components' };
  const start = async (): Promise<void> => {
    const settings = readServiceSettings(name);
    Logger.overrideLogger(new PrintableLogger({ logLevels: logLevels(settings.logLevel) }));
    if (settings.health !== undefined) {
      const { host } = settings.health;
      const server = await serveHealth(settings.health, progress);
      new Logger(name).log(`health at http://${host}:${portOf(server)}/health, /ready and /metrics`);
    }
    if (settings.tracesUrl !== undefined) opened.push(await startTracing(name, settings.tracesUrl));
    const components = await loadComponents({ packages: settings.plugins, service: name });
    progress.waits = `for NATS at ${settings.nats.servers.map(withoutUrlSecrets).join(', ')}`;
    const bus = await BusService.connect({ ...settings.nats, signal: stopping.signal });
    opened.push(bus);
    progress.bus = bus;
    progress.waits = 'to open the service';
    opened.push(await open({ settings, components, bus, signal: stopping.signal, fail }));
    progress.waits = null;
    bus.logger.log(`${name} ${bus.instance} is ready`);
  };
  const started = start().catch(fail);
  onStopSignal(async () => {
    stopping.abort();
    progress.waits = 'to end';
    await waitAtMost(DEADLINES.stopOpening.ms, started);
    for (const part of opened.toReversed()) await part.close();
  });
}
