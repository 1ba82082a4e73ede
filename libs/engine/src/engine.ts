import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EngineError } from './errors';
import { fromFailure, type CallMessage, type ReplyMessage, type ProgressMessage } from './rpc';
import type { ProgressReporter } from './progress';
import type {
  EngineInfo,
  EngineOptions,
  GenerateRequest,
  GenerateResult,
  SampleLogprobs,
  TrainSample,
  TrainStepRequest,
  TrainStepResult,
  WeightsInfo,
} from './types';

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Handle of a device worker: a thread that owns all sessions of a device, generates and trains.
 * Calls may overlap; generation goes on between the passes of a training step and between their layers. Every call rejects with an
 * `EngineError`; category `worker` after the thread has failed.
 */
export class Engine {
  private readonly pending = new Map<number, PendingCall>();
  private nextId = 1;
  private gone: EngineError | undefined;
  private resolveEnded: (error: EngineError) => void;
  /** Resolves when the thread is gone, by `stop` or by a failure, with what calls are rejected with from then on. */
  readonly ended: Promise<EngineError>;

  private constructor(
    private readonly worker: Worker,
    private readonly onProgress: ProgressReporter,
  ) {
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
    worker.on('message', (message: ReplyMessage | ProgressMessage) => {
      if ('progress' in message) this.onProgress(message.progress);
      else this.settle(message);
    });
    worker.on('error', (cause) => this.fail(`the device worker failed: ${cause.message}`, cause));
    worker.on('exit', (code) => this.fail(`the device worker ended with code ${code}`));
  }

  /**
   * Starts the worker and loads model and adapter.
   * @param onProgress called with how far the copies of weights are that have to be made first
   */
  static async start(
    options: EngineOptions,
    onProgress: ProgressReporter = () => undefined,
  ): Promise<Engine> {
    const engine = new Engine(startWorker(), onProgress);
    try {
      await engine.call('start', options);
    } catch (error) {
      await engine.stop();
      throw error;
    }
    return engine;
  }

  generate(request: GenerateRequest): Promise<GenerateResult> {
    return this.call('generate', request);
  }

  /** One optimizer step over all samples. Generation in flight ends with the weights it began with. */
  trainStep(request: TrainStepRequest): Promise<TrainStepResult> {
    return this.call('trainStep', request);
  }

  /** What the newest weights say of given sequences, one array per sample. */
  logprobs(samples: TrainSample[]): Promise<SampleLogprobs[]> {
    return this.call('logprobs', samples);
  }

  /**
   * Writes weights (adapter in PEFT format, or the whole model as a Hugging Face folder), optimizer state and the given
   * files into a folder that appears complete or not at all.
   * @param files names and text of further files, `state.json` for example
   */
  save(dir: string, files: Record<string, string> = {}): Promise<WeightsInfo> {
    return this.call('save', { dir, files });
  }

  /** Goes on from a folder that `save` wrote: weights, optimizer state, version. */
  load(dir: string): Promise<WeightsInfo> {
    return this.call('load', { dir });
  }

  /** Keeps the newest weights under an id, or those of a folder that `save` wrote. */
  snapshot(id: string, dir?: string): Promise<WeightsInfo> {
    return this.call('snapshot', { id, dir });
  }

  /** Releases a snapshot; what is being generated with it ends normally. */
  dropSnapshot(id: string): Promise<void> {
    return this.call('dropSnapshot', { id });
  }

  info(): Promise<EngineInfo> {
    return this.call('info', undefined);
  }

  /** Ends the thread; calls in flight are rejected. */
  async stop(): Promise<void> {
    if (this.gone === undefined) await this.call('stop', undefined).catch(() => undefined);
    this.fail('the engine was stopped');
    await this.worker.terminate();
  }

  private call<T>(method: string, argument: unknown): Promise<T> {
    if (this.gone !== undefined) return Promise.reject(this.gone);
    const id = this.nextId++;
    return new Promise<T>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, argument } satisfies CallMessage);
    });
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

/** The compiled worker beside this file; where there is none (tests run the sources), a loader that compiles them. */
function startWorker(): Worker {
  const compiled = join(__dirname, 'worker.js');
  const file = existsSync(compiled) ? compiled : join(__dirname, 'worker-from-source.cjs');
  return new Worker(file, { name: 'device' });
}
