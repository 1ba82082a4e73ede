import '@ui-rl/code-cache';
import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { loadComponents } from '@ui-rl/plugin-kit';
import { describeError } from '@ui-rl/retry';
import { onStopSignal, PrintableLogger } from '@ui-rl/service';
import { readServiceSettings } from '@ui-rl/settings';
import { type Monitor, startMonitor } from './server';

const stopping = new AbortController();

/** Serves the page over the records of ended runs: the program of `ui-rl monitor`, which gets the address or error. */
async function view(): Promise<Monitor> {
  const { monitor, database, plugins } = readServiceSettings('monitor');
  Logger.overrideLogger(new PrintableLogger({ logLevels: ['fatal', 'error', 'warn'] }));
  const components = await loadComponents({ packages: plugins, service: 'monitor' });
  return startMonitor(null, { ...monitor, database, components, signal: stopping.signal });
}

const started = view();
started.then(
  ({ url }) => process.send?.({ url }),
  (error: unknown) => process.send?.({ error: describeError(error) }, () => process.exit(1)),
);
onStopSignal(async () => {
  stopping.abort();
  const monitor = await started.catch(() => null);
  await monitor?.close();
});
