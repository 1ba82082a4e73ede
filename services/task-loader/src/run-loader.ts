import { type BusService, FINAL_PHASES, type JetStreamContext, UnacceptableMessage } from '@ui-rl/bus';
import { STREAMS, subjects, type Task, TrainStepEvent } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import type { ServedRun } from '@ui-rl/service';
import { GroupReleaser } from './group-releaser';
import type { LoaderPlan } from './plan';
import { publishedRollout, readPublished } from './published-task';

/** Provides tasks for one run: training groups as the learner requests them, and tasks that users publish. */
export class RunLoader implements ServedRun {
  constructor(
    private readonly bus: BusService,
    private readonly plan: LoaderPlan,
  ) {}

  /** Works until the run has ended or the signal aborts. */
  async work(signal: AbortSignal): Promise<void> {
    const { runId } = this.plan;
    const consumption = await this.bus.consume<object>({
      stream: STREAMS.tasks,
      durable: `task-loader-${runId}`,
      subject: subjects.task(runId),
      ackWaitMs: DEADLINES.shortMessage.ms,
      handle: (written, context) => this.takeTask(readPublished(written), context),
    });
    try {
      await this.releaseGroups(signal);
    } finally {
      await consumption.stop();
    }
  }

  async close(): Promise<void> {
    await this.plan.tasks.close();
  }

  /**
   * With a curriculum, learns from the events of every step; measurements that an earlier process stored take
   * precedence.
   */
  private async releaseGroups(signal: AbortSignal): Promise<void> {
    const { runId, curriculum } = this.plan;
    const releaser = new GroupReleaser(this.bus, this.plan);
    if (curriculum.by === 'none') return releaser.run(signal);
    const results = await this.bus.consume<TrainStepEvent>({
      stream: STREAMS.events,
      durable: `task-loader-${runId}-${this.bus.instance}`,
      temporary: true,
      subject: subjects.event(runId, 'train_step'),
      schema: TrainStepEvent,
      handle: ({ step, groups = [] }) => releaser.learn(step, groups),
    });
    try {
      await releaser.run(signal);
    } finally {
      await results.stop();
    }
  }

  private async takeTask(task: Task, context: JetStreamContext): Promise<void> {
    const { runId } = this.plan;
    const state = await this.bus.runs.state(runId);
    if (state !== null && FINAL_PHASES.includes(state.phase)) {
      throw new UnacceptableMessage(
        `run ${runId} has ended (${state.phase}): nothing is played for it any more`,
      );
    }
    const rollout = publishedRollout(task, this.plan, context);
    await this.bus.publishJson(subjects.rollout(runId, rollout.purpose), rollout, rollout.rolloutId);
    this.bus.logger.log(`task "${task.description}" is rolled out as ${rollout.rolloutId}`);
  }
}
