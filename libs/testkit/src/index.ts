export { drained } from './broker';
export { makeRollout, makeTask, makeTrajectory, makeTurn } from './factories';
export { FakeHub, type FakeRepository, type HubRequest } from './fake-hub';
export { NatsServer, startNats, type NatsOptions } from './nats';
export { startPostgres, type PostgresServer } from './postgres';
export { eventually, freePort, Launched } from './processes';
export { FaultyProxy } from './proxy';
export { startFromSource, startService } from './services';
export { findChromium, findNatsServer, softwareVulkan } from './tools';
