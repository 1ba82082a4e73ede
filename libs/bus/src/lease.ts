import { performance } from 'node:perf_hooks';
import { RunLease } from '@ui-rl/contracts';
import { DEADLINES, sleep, waitAtMost } from '@ui-rl/retry';
import { BusError } from './errors';
import type { KvBucket } from './kv';

/** Time without a renewal after which another process takes over, and the interval of renewals and checks. */
const EXPIRES_MS = DEADLINES.lease.ms;
const EVERY_MS = EXPIRES_MS / 4;

/** Another process holds the lease, or the wait was aborted: nothing may be written under this lease. */
export class LeaseLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LeaseLost';
  }
}

export interface LeaseRequest extends Pick<RunLease, 'holder' | 'host'> {
  /** Aborts the wait. */
  signal: AbortSignal;
  /** Called once with the lease that has to be waited for. */
  onWaiting: (held: RunLease) => void;
}

/** The key of a bucket that stores a lease. */
export interface LeasePlace {
  bucket: KvBucket;
  key: string;
}

/**
 * Waits until the lease is free: it was never held, was released, or its holder stopped renewing it. Expiry is
 * measured by this process's clock, and only while the broker answers, because no renewal can arrive otherwise.
 * @param after the new epoch is larger than this and than the epoch of the current lease
 * @throws LeaseLost when the signal aborts
 */
export async function acquireLease(
  place: LeasePlace,
  { holder, host, signal, onWaiting }: LeaseRequest,
  after = 0,
): Promise<Lease> {
  const silence = new Silence();
  let held: RunLease | undefined;
  while (!signal.aborted) {
    const askedAt = performance.now();
    const entry = await place.bucket.get(place.key, RunLease);
    const silentMs = silence.observe(entry?.revision);
    // A lease that was seen and is now missing was lost by the broker: its holder writes it again.
    const isFree = entry === null ? held === undefined : entry.value.holder === '';
    if (isFree || silentMs >= EXPIRES_MS) {
      const epoch = Math.max(after, held?.epoch ?? 0, entry?.value.epoch ?? 0) + 1;
      const value = { holder, host, epoch };
      const revision = await write(place, value, entry?.revision);
      if (revision !== null) return new Lease(place, value, revision, askedAt);
      continue;
    }
    if (held === undefined && entry !== null) onWaiting(entry.value);
    held = entry?.value ?? held;
    await sleep(EVERY_MS, signal);
  }
  throw new LeaseLost(`${place.key} was no longer waited for`);
}

/** How long a revision has stayed the same while it was observed. */
class Silence {
  private revision: number | undefined;
  private lookedAt = performance.now();
  private ms = 0;

  /**
   * A long gap between observations means that the broker was unavailable or this process was suspended: renewals
   * could not arrive.
   */
  observe(revision: number | undefined): number {
    const now = performance.now();
    const passed = now - this.lookedAt;
    const couldHear = revision === this.revision && passed < 2 * EVERY_MS;
    this.ms = couldHear ? this.ms + passed : 0;
    this.revision = revision;
    this.lookedAt = now;
    return this.ms;
  }
}

/**
 * An exclusive lease among several processes, any of which may be suspended, disconnected or presumed dead. It renews
 * itself. Its holder calls {@link confirm} before each visible effect, and marks its writes with the epoch, so that
 * they are rejected once a later holder has written.
 */
export class Lease {
  /** Fencing token: larger than that of every earlier holder. */
  readonly epoch: number;
  private readonly losing = new AbortController();
  private readonly ending = new AbortController();
  private confirming: Promise<void> = Promise.resolve();

  constructor(
    private readonly place: LeasePlace,
    private readonly value: RunLease,
    private revision: number,
    private confirmedAt: number,
  ) {
    this.epoch = value.epoch;
    void this.keep();
  }

  /** Aborts with a `LeaseLost` as its reason when another process holds the lease, or when it is released. */
  get lost(): AbortSignal {
    return this.losing.signal;
  }

  /**
   * Resolves immediately while the lease cannot have expired by this process's clock; after a pause asks the broker.
   * @throws LeaseLost
   */
  async ensure(): Promise<void> {
    this.lost.throwIfAborted();
    if (performance.now() - this.confirmedAt >= EXPIRES_MS) await this.confirm();
  }

  /**
   * Renews the lease: when this resolves, it was still held. Waits while the broker is unavailable. @throws LeaseLost
   */
  confirm(): Promise<void> {
    this.confirming = this.confirming.catch(() => undefined).then(() => this.renew());
    return this.confirming;
  }

  /** Releases the lease, so that the next process can take it immediately. */
  async release(): Promise<void> {
    this.ending.abort();
    await waitAtMost(DEADLINES.publish.ms, this.giveBack());
  }

  private async giveBack(): Promise<void> {
    await this.confirming.catch(() => undefined);
    if (this.lost.aborted) return;
    this.losing.abort(new LeaseLost(`${this.place.key} was given back`));
    const free = Object.assign(new RunLease(), this.value, { holder: '' });
    // Another process may have taken it already; if the broker is unavailable, the lease expires instead.
    await this.place.bucket.update(this.place.key, free, this.revision).catch(() => undefined);
  }

  private async keep(): Promise<void> {
    const stop = AbortSignal.any([this.ending.signal, this.lost]);
    while (!stop.aborted) {
      await sleep(EVERY_MS, stop);
      if (stop.aborted) return;
      try {
        await this.confirm();
      } catch (error) {
        if (error instanceof BusError && error.category === 'closed') return;
      }
    }
  }

  private async renew(): Promise<void> {
    this.lost.throwIfAborted();
    const began = performance.now();
    const { bucket, key } = this.place;
    this.revision = (await bucket.update(key, this.value, this.revision)) ?? (await this.reclaim());
    this.confirmedAt = began;
  }

  /**
   * The stored value has changed: another process took over, or the broker lost its store or returned with an older
   * one.
   */
  private async reclaim(): Promise<number> {
    const { bucket, key } = this.place;
    for (;;) {
      const entry = await bucket.get(key, RunLease);
      if (entry !== null) this.yieldTo(entry.value);
      else if ((await bucket.deletedAt(key)) !== null) this.lose(`${key} was deleted`);
      const revision = await write(this.place, this.value, entry?.revision);
      if (revision !== null) return revision;
    }
  }

  private yieldTo({ holder, host, epoch }: RunLease): void {
    const isOwn = epoch === this.epoch && holder === this.value.holder;
    if (epoch < this.epoch || isOwn) return;
    this.lose(
      `${this.place.key} is held by ${holder} on ${host} now (epoch ${epoch}, this process had ${this.epoch})`,
    );
  }

  private lose(message: string): never {
    const lost = new LeaseLost(message);
    this.losing.abort(lost);
    throw lost;
  }
}

function write(
  { bucket, key }: LeasePlace,
  value: RunLease,
  revision: number | undefined,
): Promise<number | null> {
  return revision === undefined ? bucket.create(key, value) : bucket.update(key, value, revision);
}
