import { Logger } from '@nestjs/common';
import { UnacceptableMessage } from '@ui-rl/bus';
import type { Trajectory } from '@ui-rl/contracts';
import { type KeyedEvent, record } from '@ui-rl/records';
import { describeError, everyFewSeconds, RETRIES, retry, type RetryPolicy } from '@ui-rl/retry';
import type { DataSource } from 'typeorm';
import { isDataError } from './data-error';

export type Item = { trajectory: Trajectory } | { event: KeyedEvent };

interface Waiting {
  item: Item;
  resolve: () => void;
  reject: (error: Error) => void;
}

export interface BatcherOptions {
  /** Maximum number of items per transaction. */
  maxItems?: number;
  /** Maximum time that the first item of a batch waits for others. */
  maxWaitMs?: number;
  /** Retries while the database is unavailable. */
  retry?: Pick<RetryPolicy, 'firstMs' | 'maxMs'>;
  /** Called after each commit with the new items. */
  committed?(items: readonly Item[]): void;
}

/**
 * Collects messages that arrive within a short time and writes them in one transaction. `add` resolves once the row
 * is committed. Waits for an unavailable database without a limit; a row that it rejects fails alone, as
 * `UnacceptableMessage`.
 */
export class Batcher {
  private readonly logger = new Logger('recorder');
  private readonly stopping = new AbortController();
  private readonly report = everyFewSeconds((error) =>
    this.logger.warn(`the database does not take rows, trying again until it does: ${describeError(error)}`),
  );
  private readonly queue: Waiting[] = [];
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> | null = null;

  constructor(
    private readonly dataSource: DataSource,
    private readonly options: BatcherOptions = {},
  ) {}

  async add(item: Item): Promise<void> {
    if (this.stopping.signal.aborted) throw new Error('the recorder is being stopped');
    return new Promise((resolve, reject) => {
      this.queue.push({ item, resolve, reject });
      if (this.queue.length >= this.maxItems) void this.flush();
      else this.timer ??= setTimeout(() => void this.flush(), this.options.maxWaitMs ?? 100);
    });
  }

  /** Writes pending items, if the database allows it, and accepts no more. */
  async stop(): Promise<void> {
    const last = this.flush();
    const limit = setTimeout(() => this.stopping.abort(), 3_000);
    await last;
    clearTimeout(limit);
    this.stopping.abort();
  }

  private get maxItems(): number {
    return this.options.maxItems ?? 64;
  }

  private flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.writing ??= this.drain();
    return this.writing;
  }

  private async drain(): Promise<void> {
    // `writing` is this promise before it can end.
    await Promise.resolve();
    try {
      while (this.queue.length > 0) await this.write(this.queue.splice(0, this.maxItems));
    } finally {
      // Synchronously: later items have to start a new promise.
      this.writing = null;
    }
  }

  private async write(batch: Waiting[]): Promise<void> {
    try {
      await retry(this.options.retry ?? RETRIES.database, () => this.commit(batch), {
        signal: this.stopping.signal,
        isTransient: (error) => !isDataError(error),
        onFailure: this.report,
      });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (isDataError(error)) return this.refuse(batch, error);
      const stopped = new Error('the recorder was stopped before it could write', { cause: error });
      for (const { reject } of batch) reject(stopped);
    }
  }

  /** Finds the row that the database rejects; writes the others of the batch. */
  private async refuse(batch: Waiting[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const waiting of batch) await this.write([waiting]);
      return;
    }
    batch[0].reject(
      new UnacceptableMessage(`the database refuses it: ${describeError(error)}`, { cause: error }),
    );
  }

  private async commit(batch: Waiting[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    await record(this.dataSource, {
      trajectories: items.flatMap((item) => ('trajectory' in item ? [item.trajectory] : [])),
      events: items.flatMap((item) => ('event' in item ? [item.event] : [])),
    });
    this.options.committed?.(items);
  }
}
