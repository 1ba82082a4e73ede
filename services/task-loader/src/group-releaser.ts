import { BusError, type BusService, FINAL_PHASES } from '@ui-rl/bus';
import {
  type ChosenTask,
  type GroupResult,
  LoaderState,
  type PolicyState,
  runKeys,
  type RunState,
  subjects,
} from '@ui-rl/contracts';
import { groupRollouts } from './groups';
import type { LoaderPlan } from './plan';
import { type Chosen, chosenBefore, Curriculum } from './curriculum';
import { orderOf } from './task-order';

/** Maximum delay between an announced policy and the event with its results. */
const RESULTS_MS = 30_000;

/**
 * Releases training groups, one after the other, up to the number that the learner requests. A group is published
 * first and counted afterwards; if the process dies in between, the group is published again with the same message
 * ids and stored once. For the same reason, a task that the learner excludes is left out from the group after the
 * next one on: the next one may already be published.
 */
export class GroupReleaser {
  private readonly order: ReturnType<typeof orderOf>;
  private readonly curriculum: Curriculum | undefined;
  private version = 0;
  /** The version whose results did not arrive in time. */
  private unmeasured = 0;
  private waiting: NodeJS.Timeout | undefined;
  /** Whether the measurements exceed the broker's message limit. */
  private measuredTooMuch = false;
  private phase: RunState['phase'] | null = null;
  private requested = 0;
  private takenOut: readonly string[] = [];
  /** The released state as this process knows it: a broker may return without it. */
  private known: LoaderState | undefined;
  private releasing: Promise<void> = Promise.resolve();
  private signal: AbortSignal;
  /** Fails `run` with an error that has no other handler. */
  private fail: (error: unknown) => void;

  constructor(
    private readonly bus: BusService,
    private readonly plan: LoaderPlan,
  ) {
    const { tasks, seed, curriculum: options } = plan;
    this.order = orderOf(tasks.parts, seed);
    this.curriculum =
      options.by === 'none' ? undefined : new Curriculum({ options, order: this.order, tasks, seed });
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
      this.version = policy.version;
    });
    // Neither may change after the broker returns without the latest released state.
    const failed = new Promise<never>((_, reject) => {
      this.fail = reject;
    });
    const unsubscribe = this.bus.onReconnect(() => void this.releaseNext().catch(this.fail));
    try {
      await Promise.race([Promise.all([phases, demand]), failed]);
    } finally {
      unsubscribe();
      this.stopWaiting();
      ended.abort();
    }
  }

  /**
   * Adds the results of a step's groups, and releases groups that waited for them. They are stored when this
   * resolves.
   */
  async learn(step: number, results: readonly GroupResult[]): Promise<void> {
    const { curriculum } = this;
    if (curriculum === undefined) return;
    // Recall the state of an earlier or concurrent process: the events of those steps may be gone.
    if (step > curriculum.step) this.recall(await this.bus.runs.loader(this.plan.runId));
    await curriculum.learn(step, results);
    if (curriculum.step >= this.version) this.stopWaiting();
    await this.releaseNext();
  }

  private recall(state: LoaderState | null): void {
    if (state?.measured !== undefined) this.curriculum?.restore(state.measured);
  }

  /** Whether the results of the latest step are still pending: choices have to depend on them, not on timing. */
  private get mustWait(): boolean {
    if (this.curriculum === undefined || this.curriculum.step >= this.version) return false;
    if (this.unmeasured >= this.version) return false;
    if (this.waiting !== undefined) return true;
    const { version } = this;
    this.waiting = setTimeout(() => {
      this.waiting = undefined;
      this.unmeasured = version;
      this.bus.logger.warn(
        `nothing was heard of step ${version}: its groups do not count for the curriculum`,
      );
      void this.releaseNext().catch((error: unknown) => this.fail(error));
    }, RESULTS_MS);
    this.waiting.unref();
    return true;
  }

  private stopWaiting(): void {
    clearTimeout(this.waiting);
    this.waiting = undefined;
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

  /** Sequentially. */
  private releaseNext(): Promise<void> {
    const released = this.releasing.then(() => this.release());
    this.releasing = released.catch(() => undefined);
    return released;
  }

  private async release(): Promise<void> {
    const entry = await this.bus.runsBucket.get(this.key, LoaderState);
    const stored = entry?.value ?? { groupsReleased: 0 };
    this.recall(stored);
    let state = this.withMeasured(this.withTakenOut(entry === null ? (this.known ?? stored) : stored));
    let revision: number | null = entry?.revision ?? 0;
    if (state !== stored) revision = await this.store(state, revision);
    while (revision !== null && this.phase === 'training' && !this.signal.aborted) {
      const { groupsReleased } = state;
      if (groupsReleased >= this.requested) return;
      if (this.curriculum !== undefined && chosenBefore(state.chosen, groupsReleased) === undefined) {
        if (this.mustWait) return;
        state = changed(state, { chosen: await this.chooseNext(state, this.curriculum) });
        revision = await this.store(state, revision);
        continue;
      }
      await this.publish(state);
      state = changed(state, { groupsReleased: groupsReleased + 1 });
      revision = await this.store(state, revision);
      if (revision !== null) this.known = state;
    }
    // Another task-loader also serves the run: continue from its count.
    if (revision === null) return this.release();
  }

  private get key(): string {
    return runKeys.loader(this.plan.runId);
  }

  /**
   * Null if another task-loader wrote first. Omits the measurements if they are too large: a restart then only has
   * the events.
   */
  private async store(state: LoaderState, revision: number): Promise<number | null> {
    const { measured, ...rest } = state;
    const bucket = this.bus.runsBucket;
    if (this.measuredTooMuch) return bucket.update(this.key, rest, revision);
    try {
      return await bucket.update(this.key, state, revision);
    } catch (error) {
      if (!(error instanceof BusError) || error.category !== 'too_large' || measured === undefined)
        throw error;
      this.measuredTooMuch = true;
      this.bus.logger.warn(`what the curriculum has measured is not kept: ${error.message}`);
      return this.store(state, revision);
    }
  }

  /** The state with new measurements; the same object if there are none. */
  private withMeasured(state: LoaderState): LoaderState {
    if (this.curriculum === undefined || this.measuredTooMuch) return state;
    if (this.curriculum.step <= (state.measured?.step ?? 0)) return state;
    return changed(state, { measured: this.curriculum.state });
  }

  /** The state with newly excluded tasks; the same object if there are none. */
  private withTakenOut(state: LoaderState): LoaderState {
    const known = state.takenOut ?? [];
    const added = this.takenOut.filter((task) => known.every((each) => each.task !== task));
    if (added.length === 0) return state;
    const fromGroup = state.groupsReleased + 1;
    return changed(state, { takenOut: [...known, ...added.map((task) => ({ task, fromGroup }))] });
  }

  /** The curriculum's next choice; stored before it is published, because it would differ a step later. */
  private async chooseNext(state: LoaderState, curriculum: Curriculum): Promise<ChosenTask> {
    const group = state.groupsReleased;
    const left = await this.leftOut(state);
    const { place, cursor, choice }: Chosen = curriculum.choose(group, state.chosen?.cursor ?? 0, (each) =>
      left.has(each),
    );
    const { id: task } = await this.plan.tasks.at(place);
    return { group, task, cursor, choice };
  }

  private async publish(state: LoaderState): Promise<void> {
    const { groupsReleased: index } = state;
    const { tasks, runId } = this.plan;
    const chosen = this.curriculum === undefined ? undefined : chosenBefore(state.chosen, index);
    const left = await this.leftOut(state);
    const known = chosen === undefined ? undefined : await tasks.placeOf(chosen.task);
    const place = known ?? this.order.at(index, (each) => left.has(each));
    const rollouts = groupRollouts(this.plan, index, await tasks.at(place), chosen?.choice);
    const subject = subjects.rollout(runId, 'train');
    await Promise.all(rollouts.map((rollout) => this.bus.publishJson(subject, rollout, rollout.rolloutId)));
  }

  /** Indices of the tasks that the next group must not use. */
  private async leftOut({ groupsReleased, takenOut = [] }: LoaderState): Promise<Set<number | undefined>> {
    const out = takenOut.filter(({ fromGroup }) => fromGroup <= groupsReleased);
    return new Set(await Promise.all(out.map(({ task }) => this.plan.tasks.placeOf(task))));
  }
}

function changed(state: LoaderState, changes: Partial<LoaderState>): LoaderState {
  return Object.assign(new LoaderState(), state, changes);
}
