import { type BusService, FINAL_PHASES } from '@ui-rl/bus';
import { LoaderState, type PolicyState, runKeys, type RunState, subjects } from '@ui-rl/contracts';
import type { LoadedTask } from '@ui-rl/plugin-kit';
import { groupRollouts } from './groups';
import type { LoaderPlan } from './plan';
import { TaskOrder } from './task-order';

/**
 * Releases training groups, one after the other, as many as the learner requests. A group is published first and counted
 * then; where the process dies in between, the group is published again under the same message ids and stored once.
 */
export class GroupReleaser {
  private readonly order: TaskOrder<LoadedTask>;
  private phase: RunState['phase'] | null = null;
  private requested = 0;
  private releasing: Promise<void> = Promise.resolve();
  private signal: AbortSignal;

  constructor(
    private readonly bus: BusService,
    private readonly plan: LoaderPlan,
  ) {
    this.order = new TaskOrder(plan.tasks, plan.seed);
  }

  /** Follows phase and demand until the run has ended or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { runs } = this.bus;
    const { runId } = this.plan;
    const ended = new AbortController();
    this.signal = AbortSignal.any([signal, ended.signal]);
    const phases = this.follow(runs.watchState(runId, this.signal), ({ phase }: RunState) => {
      this.phase = phase;
      if (FINAL_PHASES.includes(phase)) ended.abort();
    });
    const demand = this.follow(runs.watchPolicy(runId, this.signal), ({ groupsRequested }: PolicyState) => {
      this.requested = groupsRequested;
    });
    try {
      await Promise.all([phases, demand]);
    } finally {
      ended.abort();
    }
  }

  private async follow<T>(changes: AsyncIterable<T>, apply: (change: T) => void): Promise<void> {
    for await (const change of changes) {
      apply(change);
      this.releasing = this.releasing.then(() => this.release());
      await this.releasing;
    }
  }

  private async release(): Promise<void> {
    const key = runKeys.loader(this.plan.runId);
    const entry = await this.bus.runsBucket.get(key, LoaderState);
    let released = entry?.value.groupsReleased ?? 0;
    let revision = entry?.revision ?? 0;
    while (this.phase === 'training' && released < this.requested && !this.signal.aborted) {
      await this.publish(released);
      const state: LoaderState = { groupsReleased: released + 1 };
      const updated = await this.bus.runsBucket.update(key, state, revision);
      // Another task-loader serves the run too: go on from what it has counted.
      if (updated === null) return this.release();
      revision = updated;
      released += 1;
    }
  }

  private async publish(index: number): Promise<void> {
    const rollouts = groupRollouts(this.plan, index, this.order.at(index));
    const subject = subjects.rollout(this.plan.runId, 'train');
    await Promise.all(rollouts.map((rollout) => this.bus.publishJson(subject, rollout, rollout.rolloutId)));
  }
}
