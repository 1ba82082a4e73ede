import { statSync } from 'node:fs';
import { jetstreamManager } from '@nats-io/jetstream';
import { descendants } from '@ui-rl/testkit';
import { serviceOf, type TestFleet } from '../e2e/support/fleet';
import { filesBelow, memoryOf, openFilesOf } from './proc';

/** Measurements of a fleet by name: processes, memory in MB (`… memory`), open files, files on disk, consumers. */
export type Reading = Record<string, number>;

/**
 * Measures a fleet. Each service includes all its copies and their child processes, such as browsers. Memory is the
 * proportional set size, which counts shared pages once.
 */
export async function readGauges(fleet: TestFleet): Promise<Reading> {
  const reading: Reading = {};
  const add = (name: string, value: number): void => void (reading[name] = (reading[name] ?? 0) + value);
  for (const member of fleet.members) {
    const service = serviceOf(member);
    const pid = fleet.pidOf(member);
    for (const each of [pid, ...descendants(pid).map((child) => child.pid)]) {
      add(`${service} processes`, 1);
      add(`${service} memory`, memoryOf(each));
      add(`${service} open files`, openFilesOf(each));
    }
  }
  const broker = descendants(process.pid).filter(({ command }) => /nats-server/.test(command));
  for (const { pid } of broker) {
    add('broker memory', memoryOf(pid));
    add('broker open files', openFilesOf(pid));
  }
  add('files of the services', filesBelow(fleet.folder).length);
  add('broker store', megabytes(filesBelow(fleet.nats.storeDir)));
  for (const [stream, count] of await consumersOf(fleet)) add(`consumers of ${stream}`, count);
  return reading;
}

function megabytes(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0) / 1e6;
}

/** Consumers of streams and buckets. */
async function consumersOf(fleet: TestFleet): Promise<[string, number][]> {
  const jsm = await jetstreamManager(fleet.bus.connection);
  const found: [string, number][] = [];
  for await (const { config, state } of jsm.streams.list()) found.push([config.name, state.consumer_count]);
  return found;
}
