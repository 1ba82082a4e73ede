import '@ui-rl/code-cache';
import 'reflect-metadata';
import { serviceMain } from '@ui-rl/service';
import { startMonitor } from './server';

/** Records the messages of the other services and serves the page. Waits for NATS. */
serviceMain('monitor', ({ bus, components, settings: { monitor, database, run, nats }, signal }) => {
  const hasBucket = nats.blobs !== undefined;
  return startMonitor(bus, { ...monitor, database, components, run, hasBucket, signal });
});
