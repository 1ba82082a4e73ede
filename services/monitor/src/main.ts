import '@ui-rl/code-cache';
import 'reflect-metadata';
import { serviceMain } from '@ui-rl/service';
import { startMonitor } from './server';

/** Records what the other services publish and serves the page. Waits for NATS. */
serviceMain('monitor', ({ bus, components, settings: { monitor, database }, signal }) =>
  startMonitor(bus, { ...monitor, database, components, signal }),
);
