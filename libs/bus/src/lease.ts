import { performance } from 'node:perf_hooks';
import { RunLease } from '@ui-rl/contracts';
import { DEADLINES, sleep, waitAtMost } from '@ui-rl/retry';
import { BusError } from './errors';
import type { KvBucket } from './kv';

/** Silence of a holder after which another process takes over, and how often both look. */
const EXPIRES_MS = DEADLINES.lease.ms;
const EVERY_MS = EXPIRES_MS / 4;

/** Another process holds what this one held or waited for, or the waiting was ended: nothing may be written in its name. */
export class LeaseLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LeaseLost';
  }
}

export interface LeaseRequest extends Pick<RunLease, 'holder' | 'host'> {
  /** Ends the waiting. */
  signal: AbortSignal;
  /** Told once who has to be waited for. */
  onWaiting: (held: RunLease) => void;
}

/** The place of a lease: a key of a bucket. */
export interface LeasePlace {
  bucket: KvBucket;
  key: string;
}

/**
 * Waits until nobody else holds the lease: it was never held, was given back, or its holder was not heard of for so long. That is
 * judged by this process's own clock, and only while the broker answers: nobody can be heard while that is away.
 * @param after the new epoch is larger than this, and than that of the lease as it stands
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
    // One that was seen and is gone was lost by the broker: its holder writes it again.
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

/** How long a revision has stayed the same while somebody looked. */
class Silence {
  private revision: number | undefined;
  private lookedAt = performance.now();
  private ms = 0;

  /** Between looks that lie far apart the broker was away, or this process did not run: nobody could be heard. */
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
 * What at most one process of several holds: one that may be stopped for a while, cut off from the broker, or taken for dead. It
 * renews the lease by itself. Whoever relies on it asks before an effect that others see ({@link confirm}), and marks what it
 * writes with the epoch, so that it is refused where a later holder has written.
 */
export class Lease {
  /** Fencing number: larger than that of every holder before. */
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

  /** Aborts with a `LeaseLost` as its reason when another process holds it, or when it is given back. */
  get lost(): AbortSignal {
    return this.losing.signal;
  }

  /**
   * Resolves at once while nobody else can hold it yet, by this process's own clock; after a pause asks the broker.
   * @throws LeaseLost
   */
  async ensure(): Promise<void> {
    this.lost.throwIfAborted();
    if (performance.now() - this.confirmedAt >= EXPIRES_MS) await this.confirm();
  }

  /** Renews it: when this resolves it was still held. Waits while the broker is away. @throws LeaseLost */
  confirm(): Promise<void> {
    this.confirming = this.confirming.catch(() => undefined).then(() => this.renew());
    return this.confirming;
  }

  /** Lets the next process have it at once. */
  async release(): Promise<void> {
    this.ending.abort();
    await waitAtMost(DEADLINES.publish.ms, this.giveBack());
  }

  private async giveBack(): Promise<void> {
    await this.confirming.catch(() => undefined);
    if (this.lost.aborted) return;
    this.losing.abort(new LeaseLost(`${this.place.key} was given back`));
    const free = Object.assign(new RunLease(), this.value, { holder: '' });
    // Somebody who takes it meanwhile has it; a broker that is away hears of the silence instead.
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

  /** Another value stands there: that of a process that took over, or what a broker has that lost its store or went back in time. */
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
