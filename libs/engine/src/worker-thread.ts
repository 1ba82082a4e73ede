import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EngineError } from './errors';
import { fromFailure, type CallMessage, type ReplyMessage } from './rpc';

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A thread with a device worker in it: calls go in as messages, each is answered by one. */
export class WorkerThread {
  private readonly worker = startWorker();
  private readonly pending = new Map<number, PendingCall>();
  private nextId = 1;
  private gone: EngineError | undefined;
  private tellGone!: (error: EngineError) => void;
  /** Resolves when the thread is gone, by `stop` or by a failure, with what calls are rejected with from then on. */
  readonly ended = new Promise<EngineError>((resolve) => (this.tellGone = resolve));

  constructor() {
    this.worker.on('message', (reply: ReplyMessage) => this.settle(reply));
    this.worker.on('error', (cause) => this.fail(`the device worker failed: ${cause.message}`, cause));
    this.worker.on('exit', (code) => this.fail(`the device worker ended with code ${code}`));
  }

  /** Calls that are not answered yet. */
  get active(): number {
    return this.pending.size;
  }

  call<T>(method: string, argument: unknown): Promise<T> {
    if (this.gone !== undefined) return Promise.reject(this.gone);
    const id = this.nextId++;
    return new Promise<T>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, argument } satisfies CallMessage);
    });
  }

  /** Ends the thread; calls under way are rejected. */
  async stop(): Promise<void> {
    if (this.gone === undefined) await this.call('stop', undefined).catch(() => undefined);
    this.fail('the engine was stopped');
    await this.worker.terminate();
  }

  private settle(reply: ReplyMessage): void {
    const call = this.pending.get(reply.id);
    if (call === undefined) return;
    this.pending.delete(reply.id);
    if (reply.ok) call.resolve(reply.value);
    else call.reject(fromFailure(reply.error));
  }

  private fail(message: string, cause?: unknown): void {
    this.gone ??= new EngineError('worker', message, { cause });
    this.tellGone(this.gone);
    for (const call of this.pending.values()) call.reject(this.gone);
    this.pending.clear();
  }
}

/** The compiled worker beside this file; where there is none (tests run the sources), a loader that compiles them. */
function startWorker(): Worker {
  const compiled = join(__dirname, 'worker.js');
  const file = existsSync(compiled) ? compiled : join(__dirname, 'worker-from-source.cjs');
  return new Worker(file, { name: 'device' });
}
