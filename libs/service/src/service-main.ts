import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { DEADLINES, describeError, waitAtMost } from '@ui-rl/retry';
import { logLevels, readServiceSettings, redactUrl, type ServiceSettings } from '@ui-rl/settings';
import { PrintableLogger } from './printable-logger';
import { portOf, serveHealth, type Progress } from './health';
import { onStopSignal } from './stop-signal';
import { startTracing } from './tracing';

/** What a service is opened with. */
export interface ServiceContext {
  settings: ServiceSettings;
  /** What runs may choose: components of the project and of the modules that `UIRL_PLUGINS` names. */
  components: ComponentRegistry;
  /** Connected; it is closed after the service. */
  bus: BusService;
  /** Aborts where the service is asked to end; what is opened then is closed. */
  signal: AbortSignal;
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
    progress.waits = `for NATS at ${settings.nats.servers.map(redactUrl).join(', ')}`;
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
