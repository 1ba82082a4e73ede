import { BusError, type BusService, type JetStreamContext } from '@ui-rl/bus';
import { type RolloutRequest, subjects, type Trajectory } from '@ui-rl/contracts';
import { trajectory } from '@ui-rl/episode';
import { describeError, RETRIES } from '@ui-rl/retry';
import { countEpisode } from './measures';

/** Publishes the progress of a run's rollouts. */
export class Trajectories {
  /** Name of this actor. */
  readonly actor: string;

  constructor(private readonly bus: BusService) {
    this.actor = `${bus.service}-${bus.instance}`;
  }

  /** Announces the start of a rollout. */
  async started({ runId, rolloutId }: RolloutRequest): Promise<void> {
    try {
      await this.bus.event({ type: 'rollout_started', runId, rolloutId, actor: this.actor }, rolloutId);
    } catch (error) {
      this.bus.logger.warn(`the start of ${rolloutId} could not be published: ${describeError(error)}`);
    }
  }

  /** Every rollout yields a trajectory: one that failed in all deliveries yields an invalid one with the reason. */
  async exhausted(request: RolloutRequest, context: JetStreamContext): Promise<void> {
    const why = context.error === undefined ? 'the actor ended each time' : describeError(context.error);
    await this.publish(
      trajectory(request, this.actor, new Date(), {
        status: 'invalid',
        invalidReason: `actor: failed ${RETRIES.rollout.attempts} deliveries: ${why}`,
        turns: [],
      }),
    );
  }

  async publish(played: Trajectory): Promise<void> {
    const { runId, purpose, rolloutId } = played.request;
    const subject = subjects.trajectory(runId, purpose);
    countEpisode(played);
    try {
      await this.bus.publishJson(subject, played, rolloutId);
    } catch (error) {
      if (!(error instanceof BusError) || error.category !== 'too_large') throw error;
      const { request, actor, startedAt } = played;
      const invalid = { status: 'invalid' as const, invalidReason: `too_large: ${error.message}`, turns: [] };
      await this.bus.publishJson(
        subject,
        trajectory(request, actor, new Date(startedAt), invalid),
        rolloutId,
      );
    }
  }
}
