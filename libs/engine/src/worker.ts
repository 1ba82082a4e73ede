/**
 * Entry point of the device worker's thread: each call arrives as a message and is answered by one; other messages
 * report progress.
 */
import '@ui-rl/code-cache';
import { parentPort } from 'node:worker_threads';
import { DeviceWorker } from './device-worker';
import {
  toFailure,
  type CallMessage,
  type EventMessage,
  type ReplyMessage,
  type ProgressMessage,
} from './rpc';

const port = parentPort;
if (port === null)
  throw new Error('worker.ts is the entry of a worker thread; start it through LocalEngine.start');

const worker = new DeviceWorker((progress) => port.postMessage({ progress } satisfies ProgressMessage));
port.on('message', (call: CallMessage) => {
  const reply = (message: ReplyMessage): void => port.postMessage(message);
  const tell = (event: unknown): void => port.postMessage({ id: call.id, event } satisfies EventMessage);
  worker.handle(call.method, call.argument as never, call.events ? tell : undefined).then(
    (value) => reply({ id: call.id, ok: true, value }),
    (error: unknown) => reply({ id: call.id, ok: false, error: toFailure(error) }),
  );
});
