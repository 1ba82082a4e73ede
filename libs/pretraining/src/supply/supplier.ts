import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { startThread } from '@ui-rl/plugin-kit';
import type { AskedScreen } from '../answering/answerer';
import type { ReadScreen } from '../reading/reader';

/** The samples of a stage, by stage name. */
export interface Supplies {
  read: ReadScreen;
  point: AskedScreen;
  act: AskedScreen;
}

export type StageName = keyof Supplies;

export interface SupplyOptions {
  stage: StageName;
  /** Folder of the model whose tokenizer and image processor prepare the screens. */
  modelDir: string;
  seed: number;
  /** The first step to supply. */
  from: number;
  /** Path of the browser; defaults to the one of this machine. */
  chromium?: string | undefined;
}

/** The training batch of one step. */
export interface Batch<S extends StageName> {
  step: number;
  screens: Supplies[S][];
}

/** Batches prepared in advance. */
const AHEAD = 6;

/**
 * Batches of consecutive steps, rendered in a separate thread while the trainer computes. Equal seeds and steps give
 * the same pages and questions; a few antialiased pixels can differ.
 */
export class Supplier<S extends StageName> {
  private readonly ready: Batch<S>[] = [];
  private waiting: { resolve(batch: Batch<S>): void; reject(error: Error): void } | undefined;
  private failed: Error | undefined;

  private constructor(private readonly thread: Worker) {
    thread.on('message', (batch: Batch<S>) => {
      if (this.waiting === undefined) this.ready.push(batch);
      else this.waiting.resolve(batch);
      this.waiting = undefined;
    });
    thread.on('error', (error) => this.fail(error));
    thread.on('exit', (code) => this.fail(new Error(`the thread that draws pages ended with code ${code}`)));
  }

  static start<S extends StageName>(options: SupplyOptions & { stage: S }): Supplier<S> {
    const supplier = new Supplier<S>(
      startThread(join(__dirname, 'thread'), { name: 'pages', workerData: options }),
    );
    supplier.ask(AHEAD);
    return supplier;
  }

  async next(): Promise<Batch<S>> {
    const batch = this.ready.shift() ?? (await this.wait());
    this.ask(1);
    return batch;
  }

  async stop(): Promise<void> {
    if (this.failed !== undefined) return;
    this.failed = new Error('the supplier was stopped');
    await new Promise<void>((resolve) => {
      this.thread.once('exit', () => resolve());
      this.thread.postMessage('stop');
    });
  }

  private ask(count: number): void {
    for (let i = 0; i < count; i++) this.thread.postMessage('next');
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
