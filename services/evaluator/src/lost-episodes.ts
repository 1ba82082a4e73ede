import type { BusService } from '@ui-rl/bus';
import { type OpenEvaluation, type Purpose, type RolloutRequest, Trajectory } from '@ui-rl/contracts';
import { OwedEpisodes } from '@ui-rl/service';
import { episodeRollout } from './episodes';
import type { EvaluationStore } from './evaluation-store';
import type { EvaluationPlan } from './plan';
import { attemptAt, pendingEpisodes } from './state';

const PURPOSES: readonly Purpose[] = ['baseline', 'eval'];

/** The durable consumer of a run's evaluated episodes. */
export function trajectoryConsumer(runId: string, purpose: Purpose): string {
  return `evaluator-${runId}-${purpose}`;
}

/**
 * Finds released episodes of open evaluations that are lost. They count as invalid and are therefore played again.
 */
export class LostEpisodes {
  private readonly owed: OwedEpisodes<RolloutRequest>;

  /** @param take handles a trajectory */
  constructor(
    private readonly bus: BusService,
    private readonly plan: EvaluationPlan,
    private readonly store: EvaluationStore,
    private readonly take: (trajectory: Trajectory) => Promise<void>,
    everyMs?: number,
  ) {
    const { runId } = plan;
    this.owed = new OwedEpisodes<RolloutRequest>(
      {
        bus,
        runId,
        purposes: PURPOSES,
        durableOf: (purpose) => trajectoryConsumer(runId, purpose),
        owed: () => this.pending(),
        keyOf: ({ rolloutId }) => rolloutId,
        held: () => 0,
        lost: (requests) => this.recover(requests),
      },
      everyMs,
    );
  }

  /** Checks periodically, until the signal aborts. */
  watch(signal: AbortSignal): Promise<void> {
    return this.owed.watch(signal);
  }

  private async pending(): Promise<Map<string, RolloutRequest>> {
    const { open } = await this.store.read();
    const requests = open
      .filter(({ released }) => released)
      .flatMap((evaluation) => this.requestsOf(evaluation));
    return new Map(requests.map((request) => [request.rolloutId, request]));
  }

  private requestsOf(evaluation: OpenEvaluation): RolloutRequest[] {
    return pendingEpisodes(evaluation).map((index) =>
      episodeRollout(this.plan, evaluation, index, attemptAt(evaluation, index)),
    );
  }

  private async recover(requests: readonly RolloutRequest[]): Promise<void> {
    const { service, logger } = this.bus;
    const ids = requests.map(({ rolloutId }) => rolloutId).join(', ');
    const message = `episodes were lost: they were requested, no queue has them any more, and no trajectory came in: ${ids}`;
    logger.warn(message);
    const { runId } = this.plan;
    await this.bus.event(
      { type: 'warning', runId, service, code: 'lost_episodes', message },
      `${service}.lost_episodes.${requests[0].rolloutId}`,
    );
    for (const request of requests) await this.take(lost(request));
  }
}

function lost(request: RolloutRequest): Trajectory {
  const now = new Date().toISOString();
  return Object.assign(new Trajectory(), {
    request,
    status: 'invalid' as const,
    invalidReason: 'lost: no queue has it any more, and no trajectory came in',
    success: null,
    reward: 0,
    rewards: {},
    turns: [],
    actor: 'none',
    startedAt: now,
    finishedAt: now,
  });
}
