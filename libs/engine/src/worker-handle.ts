import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { startThread } from '@ui-rl/plugin-kit';
import { EngineError } from './errors';
import type { ProgressReporter } from './progress';
import {
  fromFailure,
  type CallMessage,
  type EventMessage,
  type ProgressMessage,
  type ReplyMessage,
} from './rpc';
import type { WorkerArgument, WorkerMethod, WorkerOptions, WorkerResult } from './worker-api';

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
  onEvent: ((event: unknown) => void) | undefined;
}

/** The thread of a device worker as its owner sees it: calls by name, each answered or rejected. */
export class WorkerHandle {
  private readonly pending = new Map<number, PendingCall>();
  private nextId = 1;
  private gone: EngineError | undefined;
  private resolveEnded: (error: EngineError) => void;
  /** Resolves when the thread has ended, by `stop` or by a failure, with the error of all later calls. */
  readonly ended: Promise<EngineError>;

  private constructor(
    private readonly worker: Worker,
    private readonly onProgress: ProgressReporter,
  ) {
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
    worker.on('message', (message: ReplyMessage | ProgressMessage | EventMessage) => {
      if ('progress' in message) this.onProgress(message.progress);
      else if ('event' in message) this.pending.get(message.id)?.onEvent?.(message.event);
      else this.settle(message);
    });
    worker.on('error', (cause) => this.fail(`the device worker failed: ${cause.message}`, cause));
    worker.on('messageerror', (cause) =>
      this.fail(`a message of the device worker cannot be read: ${cause.message}`, cause),
    );
    worker.on('exit', (code) => this.fail(`the device worker ended with code ${code}`));
  }

  /** Starts a thread and initializes it with the call `start`. */
  static async start(options: WorkerOptions, onProgress: ProgressReporter): Promise<WorkerHandle> {
    const handle = new WorkerHandle(startThread(join(__dirname, 'worker'), { name: 'device' }), onProgress);
    try {
      await handle.call('start', options);
    } catch (error) {
      await handle.stop();
      throw error;
    }
    return handle;
  }

  /**
   * Rejects with an `EngineError`; category `worker` after the thread has failed.
   * @param onEvent receives events during the call
   */
  call<M extends WorkerMethod>(
    method: M,
    argument: WorkerArgument<M>,
    onEvent?: (event: unknown) => void,
  ): Promise<WorkerResult<M>> {
    if (this.gone !== undefined) return Promise.reject(this.gone);
    const id = this.nextId++;
    return new Promise<WorkerResult<M>>((resolve, reject) => {
      this.pending.set(id, { resolve, reject, onEvent });
      try {
        this.worker.postMessage({
          id,
          method,
          argument,
          events: onEvent !== undefined,
        } satisfies CallMessage);
      } catch (cause) {
        this.pending.delete(id);
        reject(
          new EngineError('request', `${method} cannot be sent: ${(cause as Error).message}`, { cause }),
        );
      }
    });
  }

  /** Stops the thread; pending calls are rejected. */
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
    this.resolveEnded(this.gone);
    for (const call of this.pending.values()) call.reject(this.gone);
    this.pending.clear();
  }
}
