import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { startThread } from '@ui-rl/plugin-kit';
import type { AskedScreen } from '../answering/answerer';
import type { ReadScreen } from '../reading/reader';
import type { SourceOptions } from './draw';

/** The samples of a stage, by stage name. */
export interface Supplies {
  read: ReadScreen;
  point: AskedScreen;
  act: AskedScreen;
}

export type StageName = keyof Supplies;

export interface StepOfSupply {
  seed: number;
  step: number;
  /** Multiplies the screens of the batch. */
  batch: number;
}

export interface SupplyOptions extends SourceOptions {
  stage: StageName;
  /** Folder of the model whose tokenizer and image processor prepare the screens. */
  modelDir: string;
  seed: number;
  /** The first step to supply. */
  from: number;
  /** Multiplies the screens of each batch. */
  batch: number;
  /** Threads that prepare batches. */
  threads: number;
}

export interface ThreadOptions extends SupplyOptions {
  /** Distance of the thread's steps; `from` is the first one. */
  every: number;
}

/** The training batch of one step. */
export interface Batch<S extends StageName> {
  step: number;
  screens: Supplies[S][];
}

/** Batches prepared in advance: by one thread, and by each of many. */
const AHEAD = 6;
const AHEAD_OF_EACH = 3;

/**
 * Batches of consecutive steps, prepared in separate threads while the trainer computes. Equal seeds and steps give
 * the same pages and questions; a few antialiased pixels of live pages can differ.
 */
export class Supplier<S extends StageName> {
  private readonly ready = new Map<number, Batch<S>>();
  private waiting: { resolve(batch: Batch<S>): void; reject(error: Error): void } | undefined;
  private failed: Error | undefined;
  /** The next step to hand out, and the next step to ask a thread for. */
  private step: number;
  private asked: number;
  private readonly ended: Promise<unknown>;

  private constructor(
    private readonly threads: readonly Worker[],
    private readonly from: number,
  ) {
    this.step = this.asked = from;
    for (const thread of threads) {
      thread.on('message', (batch: Batch<S>) => this.receive(batch));
      thread.on('error', (error) => this.fail(error));
      thread.on('exit', (code) =>
        this.fail(new Error(`a thread that prepares batches ended with code ${code}`)),
      );
    }
    this.ended = Promise.all(
      threads.map((thread) => new Promise<void>((resolve) => thread.once('exit', () => resolve()))),
    );
  }

  static start<S extends StageName>(options: SupplyOptions & { stage: S }): Supplier<S> {
    const { from, threads: count } = options;
    const threads = Array.from({ length: count }, (_, index) => {
      const workerData: ThreadOptions = { ...options, from: from + index, every: count };
      return startThread(join(__dirname, 'thread'), { name: `pages ${index}`, workerData });
    });
    const supplier = new Supplier<S>(threads, from);
    supplier.ask(Math.max(AHEAD, AHEAD_OF_EACH * count));
    return supplier;
  }

  /** The batch of the next step. */
  async next(): Promise<Batch<S>> {
    const batch = this.ready.get(this.step) ?? (await this.wait());
    this.ready.delete(this.step);
    this.step++;
    this.ask(1);
    return batch;
  }

  async stop(): Promise<void> {
    this.failed ??= new Error('the supplier was stopped');
    for (const thread of this.threads) thread.postMessage('stop');
    await this.ended;
  }

  private ask(count: number): void {
    for (let i = 0; i < count; i++, this.asked++) {
      this.threads[(this.asked - this.from) % this.threads.length].postMessage('next');
    }
  }

  private receive(batch: Batch<S>): void {
    if (this.waiting === undefined || batch.step !== this.step) {
      this.ready.set(batch.step, batch);
      return;
    }
    this.waiting.resolve(batch);
    this.waiting = undefined;
  }

  private wait(): Promise<Batch<S>> {
    if (this.failed !== undefined) return Promise.reject(this.failed);
    return new Promise((resolve, reject) => (this.waiting = { resolve, reject }));
  }

  private fail(error: Error): void {
    this.failed ??= error;
    this.waiting?.reject(this.failed);
    this.waiting = undefined;
  }
}
