import type { BusService } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects, type Purpose } from '@ui-rl/contracts';
import { DEADLINES, describeError, sleep } from '@ui-rl/retry';

export interface OwedEpisodesParts<T> {
  bus: BusService;
  runId: string;
  /** What the episodes are played for. */
  purposes: readonly Purpose[];
  /** The durable consumer that takes their trajectories in. */
  durableOf: (purpose: Purpose) => string;
  /** Episodes that were requested and did not come in, by a key of each. */
  owed: () => Promise<ReadonlyMap<string, T>>;
  /** The same key of one that lies in the queue. */
  keyOf: (request: RolloutRequest) => string;
  /** Messages of trajectories that came in and are not to be acknowledged yet. */
  held: () => number;
  /** Asks for episodes again that nobody plays any more. */
  lost: (episodes: readonly T[]) => Promise<void>;
}

/**
 * Compares the episodes that are owed with those that are there. What neither waits in the queue nor is played nor has come in is
 * lost: with the storage of a stream, by a limit of it, or by a person who purged it.
 */
export class OwedEpisodes<T> {
  /** Seemed lost when it was looked last: much may happen during one look. */
  private suspects = new Set<string>();

  constructor(
    private readonly parts: OwedEpisodesParts<T>,
    private readonly everyMs: number = DEADLINES.lostEpisode.ms / 2,
  ) {}

  /** Looks now and then, until the signal aborts. */
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

  /** Of what is owed that which is not there. A request is in the queue until its trajectory is published. */
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
