import { Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { type RunFileReceiver, RunService, type ServedRun } from '@ui-rl/service';
import { type EvaluationPlan, planRun } from './plan';
import { RunEvaluator } from './run-evaluator';
import { EvaluatorOptions } from './evaluator.options';

/** Evaluates runs. */
@Injectable()
export class EvaluatorService extends RunService {
  private readonly receiver: RunFileReceiver;

  constructor(bus: BusService, { runId, components, cacheDir }: EvaluatorOptions) {
    super(bus, { runId });
    this.receiver = { bus, components, cacheDir };
  }

  protected async prepare({ record }: RunSnapshot): Promise<ServedRun> {
    const plan = await planRun(record, this.receiver);
    const { unchecked, judgedByRewards } = plan;
    if (unchecked.length > 0) await this.warnUnchecked(plan);
    if (judgedByRewards.length > 0) {
      this.bus.logger.log(
        `${judgedByRewards.length} tasks are judged by the rewards of the run alone: their mean reward is reported instead of a success rate`,
      );
    }
    return new RunEvaluator(this.bus, plan);
  }

  private async warnUnchecked({ runId, unchecked }: EvaluationPlan): Promise<void> {
    const names = unchecked.map(({ id }) => id).join(', ');
    const message = `left out of the evaluation, since nothing of the run can judge them (no checks, no reward that judges by itself): ${names}`;
    this.bus.logger.warn(message);
    const { service } = this.bus;
    await this.bus.event(
      { type: 'warning', runId, service, code: 'unchecked_tasks', message },
      'unchecked_tasks',
    );
  }
}
