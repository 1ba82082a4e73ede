import { BusError, type BusService, FINAL_PHASES } from '@ui-rl/bus';
import {
  type ChosenTask,
  type GroupResult,
  LoaderState,
  type PolicyState,
  type RolloutRequest,
  runKeys,
  type RunState,
  subjects,
} from '@ui-rl/contracts';
import { groupRollouts } from './groups';
import type { LoaderPlan } from './plan';
import { Curriculum } from './curriculum';
import { orderOf } from './task-order';

/** Maximum delay between an announced policy and the event with its results. */
const RESULTS_MS = 30_000;

/**
 * Releases training groups, up to the number that the learner requests. The groups of a batch are announced, published
 * in turns (an episode of each, then the next one of each), and counted. If the process dies in between, they are
 * published again with the same message ids and stored once. For the same reason, a task that the learner excludes is
 * left out after the announced groups only: these may already be published.
 *
 * In turns, because episodes of one group start from the same page: one after the other they can share a browser tab,
 * at the same time each needs its own.
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
      if (announcedIn(state) === state.groupsReleased) {
        if (state.groupsReleased >= this.requested || this.mustWait) return;
        state = changed(state, await this.announce(state));
      } else {
        await this.publish(state);
        state = changed(state, { groupsReleased: announcedIn(state) });
      }
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
    const fromGroup = announcedIn(state);
    return changed(state, { takenOut: [...known, ...added.map((task) => ({ task, fromGroup }))] });
  }

  /**
   * The next groups: those requested, up to the end of the batch, because in turns with the next batch they would end
   * later. The curriculum's choices are stored before they are published: they would differ a step later.
   */
  private async announce(state: LoaderState): Promise<Pick<LoaderState, 'announced' | 'choices'>> {
    const { groupsReleased: first, choices: before } = state;
    const { groupsPerBatch, tasks } = this.plan;
    const endOfBatch = (Math.floor(first / groupsPerBatch) + 1) * groupsPerBatch;
    const announced = Math.min(this.requested, endOfBatch);
    if (this.curriculum === undefined) return { announced };
    const left = await this.leftOut(state);
    const choices: ChosenTask[] = [];
    let cursor = before?.at(-1)?.cursor ?? 0;
    for (let group = first; group < announced; group++) {
      const chosen = this.curriculum.choose(group, cursor, (each) => left.has(each));
      ({ cursor } = chosen);
      choices.push({ group, task: (await tasks.at(chosen.place)).id, cursor, choice: chosen.choice });
    }
    return { announced, choices };
  }

  private async publish(state: LoaderState): Promise<void> {
    const { groupsReleased: first, choices = [] } = state;
    const { tasks, runId } = this.plan;
    const left = await this.leftOut(state);
    const groups: RolloutRequest[][] = [];
    for (let index = first; index < announcedIn(state); index++) {
      const chosen = choices.find(({ group }) => group === index);
      const known = chosen === undefined ? undefined : await tasks.placeOf(chosen.task);
      const place = known ?? this.order.at(index, (each) => left.has(each));
      groups.push(groupRollouts(this.plan, index, await tasks.at(place), chosen?.choice));
    }
    const subject = subjects.rollout(runId, 'train');
    for (let turn = 0; turn < this.plan.groupSize; turn++) {
      const rollouts = groups.map((group) => group[turn]);
      await Promise.all(rollouts.map((rollout) => this.bus.publishJson(subject, rollout, rollout.rolloutId)));
    }
  }

  /** Indices of the tasks that the next groups must not use. */
  private async leftOut({ groupsReleased, takenOut = [] }: LoaderState): Promise<Set<number | undefined>> {
    const out = takenOut.filter(({ fromGroup }) => fromGroup <= groupsReleased);
    return new Set(await Promise.all(out.map(({ task }) => this.plan.tasks.placeOf(task))));
  }
}

/** The number of groups that may already be published. */
function announcedIn({ announced = 0, groupsReleased }: LoaderState): number {
  return Math.max(announced, groupsReleased);
}

function changed(state: LoaderState, changes: Partial<LoaderState>): LoaderState {
  return Object.assign(new LoaderState(), state, changes);
}
