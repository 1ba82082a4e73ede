import type { BusService } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects, type Purpose } from '@ui-rl/contracts';
import { DEADLINES, describeError, sleep } from '@ui-rl/retry';

export interface OwedEpisodesParts<T> {
  bus: BusService;
  runId: string;
  /** The purposes of the episodes. */
  purposes: readonly Purpose[];
  /** The durable consumer of their trajectories. */
  durableOf: (purpose: Purpose) => string;
  /** Requested episodes that have not arrived, by key. */
  owed: () => Promise<ReadonlyMap<string, T>>;
  /** The key of a queued request. */
  keyOf: (request: RolloutRequest) => string;
  /** Number of received trajectory messages that are not to be acknowledged yet. */
  held: () => number;
  /** Requests lost episodes again. */
  lost: (episodes: readonly T[]) => Promise<void>;
}

/**
 * Compares the outstanding episodes with the existing ones. An episode that is neither queued, nor being played, nor
 * received is lost: with the storage of a stream, because of a stream's limit, or because a user purged it.
 */
export class OwedEpisodes<T> {
  /** Episodes that seemed lost at the last check: much may change during a single check. */
  private suspects = new Set<string>();

  constructor(
    private readonly parts: OwedEpisodesParts<T>,
    private readonly everyMs: number = DEADLINES.lostEpisode.ms / 2,
  ) {}

  /** Checks periodically, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    for (await sleep(this.everyMs, signal); !signal.aborted; await sleep(this.everyMs, signal)) {
      await this.look().catch((error: unknown) => this.parts.bus.logger.error(describeError(error)));
    }
  }

  private async look(): Promise<void> {
    const lost = await this.missing(await this.parts.owed());
    const certain = [...lost].filter(([key]) => this.suspects.has(key));
    this.suspects = new Set(lost.keys());
    for (const [key] of certain) this.suspects.delete(key);
    if (certain.length > 0) await this.parts.lost(certain.map(([, episode]) => episode));
  }

  /** The outstanding episodes that do not exist. A request stays in the queue until its trajectory is published. */
  private async missing(owed: ReadonlyMap<string, T>): Promise<Map<string, T>> {
    const { bus, runId, purposes, durableOf, keyOf, held } = this.parts;
    const missing = new Map(owed);
    for (const purpose of purposes) {
      const subject = subjects.rollout(runId, purpose);
      if (missing.size === 0 || (await bus.storedCount(STREAMS.rollouts, subject)) >= owed.size)
        return new Map();
      for await (const request of bus.stored(STREAMS.rollouts, subject, RolloutRequest))
        missing.delete(keyOf(request));
    }
    let unacknowledged = 0;
    for (const purpose of purposes) {
      const backlog = await bus.backlog(STREAMS.trajectories, durableOf(purpose));
      if (backlog === null || backlog.waiting > 0) return new Map();
      unacknowledged += backlog.unacknowledged;
    }
    if (unacknowledged > held()) return new Map();
    return missing;
  }
}
