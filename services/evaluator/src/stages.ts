import type { BusService } from '@ui-rl/bus';
import {
  bestEvaluation,
  type EvaluationScore,
  type EvaluatorState,
  type OpenEvaluation,
  type RunPhase,
  subjects,
} from '@ui-rl/contracts';
import { episodeRollout } from './episodes';
import type { EvaluationStore } from './evaluation-store';
import type { EvaluationPlan } from './plan';
import { resultOf } from './result';
import { attemptAt, begin, close, markReleased, pendingEpisodes, type StageStart } from './state';

/** Number of concurrent publishes. */
const RELEASE_AT_ONCE = 16;

/** Advances a run: the next action depends only on its phase and on the stored state. */
export class Stages {
  constructor(
    private readonly bus: BusService,
    private readonly plan: EvaluationPlan,
    private readonly store: EvaluationStore,
  ) {}

  /** Performs all possible actions. Every part is idempotent. */
  async advance(phase: RunPhase): Promise<void> {
    const start = await this.startOf(phase);
    if (start !== null) await this.store.change((state) => begin(state, this.plan, start));
    const { open } = await this.store.read();
    await Promise.all(open.filter(({ released }) => !released).map((evaluation) => this.release(evaluation)));
    for (const evaluation of open)
      if (pendingEpisodes(evaluation).length === 0) await this.finish(evaluation);
    await this.leave(phase, await this.store.read());
  }

  private async startOf(phase: RunPhase): Promise<StageStart | null> {
    if (phase === 'baseline' && this.plan.baseline) {
      return { stage: 'baseline', policy: 'latest', policyVersion: 0 };
    }
    if (phase !== 'final_eval') return null;
    const policy = await this.bus.runs.policy(this.plan.runId);
    return {
      stage: 'final',
      policy: policy?.checkpoint ?? 'latest',
      policyVersion: policy?.version ?? 0,
    };
  }

  private async release(evaluation: OpenEvaluation): Promise<void> {
    const { evaluationId, outcomes } = evaluation;
    const pending = pendingEpisodes(evaluation);
    for (let first = 0; first < pending.length; first += RELEASE_AT_ONCE) {
      const some = pending.slice(first, first + RELEASE_AT_ONCE);
      await Promise.all(
        some.map((index) => this.requestEpisode(evaluation, index, attemptAt(evaluation, index))),
      );
    }
    await this.store.change((state) => markReleased(state, evaluationId));
    this.bus.logger.log(`${evaluationId}: released ${outcomes.length} episodes`);
  }

  /** Requests one episode from the actors; a repeated request is played once. */
  async requestEpisode(evaluation: OpenEvaluation, index: number, attempt: number): Promise<void> {
    const rollout = episodeRollout(this.plan, evaluation, index, attempt);
    const subject = subjects.rollout(this.plan.runId, rollout.purpose);
    await this.bus.publishJson(subject, rollout, rollout.rolloutId);
  }

  private async finish(evaluation: OpenEvaluation): Promise<void> {
    const { evaluationId } = evaluation;
    const result = resultOf(this.plan, evaluation, await this.checkpointOf(evaluation));
    await this.bus.event(result, evaluationId);
    await this.store.change((state) => close(state, evaluationId, result));
    this.bus.logger.log(`${evaluationId}: ${inWords(result)}`);
  }

  private async checkpointOf({ policy }: OpenEvaluation): Promise<string> {
    if (policy !== 'latest') return policy;
    return (await this.bus.runs.policy(this.plan.runId))?.checkpoint ?? policy;
  }

  private async leave(phase: RunPhase, { stagesDone, open, scores = [] }: EvaluatorState): Promise<void> {
    const { runs } = this.bus;
    const { runId } = this.plan;
    if (phase === 'baseline' && (!this.plan.baseline || stagesDone.includes('baseline'))) {
      await runs.changePhase(runId, 'training', { from: ['baseline'] });
    }
    if (phase === 'final_eval' && stagesDone.includes('final') && open.length === 0) {
      const reason = bestInWords(bestEvaluation(scores));
      await runs.changePhase(runId, 'finished', { from: ['final_eval'], ...(reason && { reason }) });
    }
  }
}

/** Describes the run's best checkpoint, if it is not the last one. */
function bestInWords(best: EvaluationScore | undefined): string | undefined {
  if (best === undefined || best.stage === 'final') return undefined;
  const rate = (100 * best.successRate!).toFixed(1);
  return `the result is ${best.checkpoint}, with ${rate} %: the last checkpoint is worse`;
}

function inWords({
  successRate,
  interval,
  episodes,
  invalid,
  unjudged = 0,
  metrics = {},
}: ReturnType<typeof resultOf>): string {
  if (successRate === null && unjudged > 0) {
    const reward = metrics['env/all/reward/total'];
    return `mean reward ${reward.toFixed(3)} of ${unjudged} episodes that rewards alone judge, ${invalid} invalid`;
  }
  if (successRate === null) return `no success rate, all ${invalid} episodes are invalid`;
  const [low, high] = interval.map((bound) => (100 * bound).toFixed(0));
  return `${(100 * successRate).toFixed(1)} % of ${episodes} episodes succeeded [${low}–${high}], ${invalid} invalid`;
}
