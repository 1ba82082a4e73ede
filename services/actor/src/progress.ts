import type { BusService } from '@ui-rl/bus';
import { type EpisodePhase, MAX_PROGRESS, type RolloutProgress, type RolloutRequest } from '@ui-rl/contracts';
import { describeError } from '@ui-rl/retry';

/** Rollouts that are younger do not count: their trajectories say all there is to say. */
const INTERVAL_MS = 10_000;
const MAX_TASK = 300;

/** A rollout in progress: its player writes here how far it is. */
export interface Playing {
  phase: EpisodePhase;
  /** The number of turns so far. */
  turns: () => number;
}

interface Entry {
  request: RolloutRequest;
  maxTurns: number;
  since: Date;
  playing: Playing;
}

/** Publishes, every few seconds, how far the rollouts of a run are that take longer than that. */
export class Progress {
  private readonly entries = new Set<Entry>();
  private readonly timer: NodeJS.Timeout;
  private published = 0;
  private publishing: Promise<void> = Promise.resolve();
  private isBusy = false;

  /** @param actor name of this actor */
  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
    private readonly actor: string,
    private readonly everyMs = INTERVAL_MS,
  ) {
    this.timer = setInterval(() => this.tell(), everyMs).unref();
  }

  /** Follows a rollout until `work` ends. */
  async during<T>(
    request: RolloutRequest,
    maxTurns: number,
    work: (playing: Playing) => Promise<T>,
  ): Promise<T> {
    const playing: Playing = { phase: 'opening', turns: () => 0 };
    const entry = { request, maxTurns, since: new Date(), playing };
    this.entries.add(entry);
    try {
      return await work(playing);
    } finally {
      this.entries.delete(entry);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.publishing;
  }

  private tell(): void {
    const rollouts = this.slowOnes();
    // An absent broker delays publishing without a limit.
    if (rollouts.length === 0 || this.isBusy) return;
    this.isBusy = true;
    this.publishing = this.publish(rollouts).finally(() => (this.isBusy = false));
  }

  private slowOnes(): RolloutProgress[] {
    const latest = Date.now() - this.everyMs;
    return [...this.entries]
      .filter(({ since }) => since.getTime() <= latest)
      .slice(0, MAX_PROGRESS)
      .map(({ request: { rolloutId, purpose, task }, maxTurns, since, playing }) => ({
        ...{ rolloutId, purpose, phase: playing.phase, turns: playing.turns(), maxTurns },
        since: since.toISOString(),
        task: (task.id ?? task.description).slice(0, MAX_TASK),
      }));
  }

  private async publish(rollouts: RolloutProgress[]): Promise<void> {
    const { bus, runId, actor } = this;
    this.published += 1;
    try {
      await bus.event({ type: 'rollout_progress', runId, actor, rollouts }, `${actor}.${this.published}`);
    } catch (error) {
      bus.logger.warn(`the progress of rollouts could not be published: ${describeError(error)}`);
    }
  }
}
