import { type BusService, FINAL_PHASES } from '@ui-rl/bus';
import {
  LoaderState,
  type PolicyState,
  runKeys,
  type RunState,
  subjects,
  type TakenOutTask,
} from '@ui-rl/contracts';
import type { LoadedTask } from '@ui-rl/plugin-kit';
import { groupRollouts } from './groups';
import type { LoaderPlan } from './plan';
import { TaskOrder } from './task-order';

/**
 * Releases training groups, one after the other, as many as the learner requests. A group is published first and counted
 * then; where the process dies in between, the group is published again under the same message ids and stored once. For the same
 * reason a task that the learner takes out is left out from the group after the next one on: that one may be published already.
 */
export class GroupReleaser {
  private readonly order: TaskOrder<LoadedTask>;
  private phase: RunState['phase'] | null = null;
  private requested = 0;
  private takenOut: readonly string[] = [];
  /** What was released, as far as this process knows: a broker may come back without it. */
  private known: LoaderState | undefined;
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
    const phases = this.follow(runs.watchState(runId, this.signal), async ({ phase }: RunState) => {
      this.phase = phase;
      await runs.announcePhase(runId);
      if (FINAL_PHASES.includes(phase)) ended.abort();
    });
    const demand = this.follow(runs.watchPolicy(runId, this.signal), (policy: PolicyState) => {
      this.requested = policy.groupsRequested;
      this.takenOut = policy.takenOut ?? [];
    });
    // Neither needs to have changed where the broker comes back without what was released last.
    let unsubscribe: () => void = () => undefined;
    const returns = new Promise<never>((_, reject) => {
      unsubscribe = this.bus.onReconnect(() => void this.releaseNext().catch(reject));
    });
    try {
      await Promise.race([Promise.all([phases, demand]), returns]);
    } finally {
      unsubscribe();
      ended.abort();
    }
  }

  private async follow<T>(
    changes: AsyncIterable<T>,
    apply: (change: T) => void | Promise<void>,
  ): Promise<void> {
    for await (const change of changes) {
      await apply(change);
      await this.releaseNext();
    }
  }

  /** One after the other. */
  private releaseNext(): Promise<void> {
    this.releasing = this.releasing.then(() => this.release());
    return this.releasing;
  }

  private async release(): Promise<void> {
    const key = runKeys.loader(this.plan.runId);
    const entry = await this.bus.runsBucket.get(key, LoaderState);
    const stored = entry?.value ?? { groupsReleased: 0 };
    let state = this.withTakenOut(entry === null ? (this.known ?? stored) : stored);
    let revision: number | null = entry?.revision ?? 0;
    if (state !== stored) revision = await this.bus.runsBucket.update(key, state, revision);
    while (revision !== null && this.phase === 'training' && !this.signal.aborted) {
      const { groupsReleased } = state;
      if (groupsReleased >= this.requested) return;
      await this.publish(groupsReleased, state.takenOut);
      state = { groupsReleased: groupsReleased + 1, takenOut: state.takenOut };
      revision = await this.bus.runsBucket.update(key, state, revision);
      if (revision !== null) this.known = state;
    }
    // Another task-loader serves the run too: go on from what it has counted.
    if (revision === null) return this.release();
  }

  /** The state with what the learner has taken out since; the same where that is nothing. */
  private withTakenOut(state: LoaderState): LoaderState {
    const known = state.takenOut ?? [];
    const added = this.takenOut.filter((task) => known.every((each) => each.task !== task));
    if (added.length === 0) return state;
    const { groupsReleased } = state;
    const fromGroup = groupsReleased + 1;
    return { groupsReleased, takenOut: [...known, ...added.map((task) => ({ task, fromGroup }))] };
  }

  private async publish(index: number, takenOut: readonly TakenOutTask[] = []): Promise<void> {
    const left = new Set(takenOut.filter(({ fromGroup }) => fromGroup <= index).map(({ task }) => task));
    const rollouts = groupRollouts(
      this.plan,
      index,
      this.order.at(index, ({ id }) => left.has(id)),
    );
    const subject = subjects.rollout(this.plan.runId, 'train');
    await Promise.all(rollouts.map((rollout) => this.bus.publishJson(subject, rollout, rollout.rolloutId)));
  }
}
