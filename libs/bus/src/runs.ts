import {
  ANY,
  isRunId,
  mayWriteKey,
  runKeys,
  runOfKey,
  subjects,
  LoaderState,
  PhaseEvent,
  PolicyState,
  RunPause,
  RunRecord,
  RunState,
  STREAMS,
  type RunCreatedEvent,
  type RunPhase,
} from '@ui-rl/contracts';
import type { Broker } from './broker';
import { readJson, type MessageClass } from './codec';
import { describeError } from '@ui-rl/retry';
import { BusError } from './errors';
import type { KvBucket, KvChange } from './kv';
import type { Publisher } from './publisher';
import { withRetry } from './retry';
import { DUPLICATE_WINDOW_MS } from './topology';
import { acquireLease, LeaseLost, type Lease, type LeaseRequest } from './lease';

/** Phases that end a run. */
export const FINAL_PHASES: readonly RunPhase[] = ['finished', 'failed', 'stopped'];

/** The parts of a run file that may be public. */
export type ShownRunFile = Pick<RunCreatedEvent, 'config' | 'configuration'>;

export interface RunSnapshot {
  record: RunRecord;
  state: RunState;
}

/** The runs at the broker: their run files and phases, and the state that services publish about them. */
export class RunDirectory {
  /** The latest state of each run that this process has seen open. */
  private readonly open = new Map<string, RunSnapshot>();
  /** The policies that this process announced last. */
  private readonly announced = new Map<string, PolicyState>();

  constructor(
    private readonly broker: Broker,
    private readonly publisher: Publisher,
    private readonly bucket: KvBucket,
  ) {
    // Actors, env services and monitors are not trusted to restore runs: docs/operations/broker.md.
    if (mayWriteKey(broker.service, runKeys.record(ANY))) broker.onReconnect(() => void this.restore());
  }

  /**
   * Announces a run: every idle service joins it. Idempotent for the same run.
   * Throws `BusError` `conflict` if another run uses the id, or used it until recently.
   * @param shown the part of the run file to record, if not all of it
   */
  async create(record: RunRecord, phase: RunPhase = 'baseline', shown?: ShownRunFile): Promise<void> {
    const { runId, config, createdAt: at } = record;
    if (!isRunId(runId))
      throw new BusError('configuration', `"${runId}" is not a run id: letters, digits, - and _`);
    await this.refuseRecentlyDeleted(runId);
    const created = await this.bucket.create(runKeys.record(runId), record);
    const stored = created === null ? await this.record(runId) : record;
    if (stored?.createdAt !== record.createdAt) {
      throw new BusError(
        'conflict',
        `there is a run ${runId} already, created ${stored?.createdAt}: choose another name`,
      );
    }
    await this.publisher.event({ type: 'run_created', runId, at, ...(shown ?? { config }) }, 'created');
    if ((await this.state(runId)) === null) await this.changePhase(runId, phase, { from: [] });
  }

  /** Throws `BusError` `damaged` also if the record belongs to another run. */
  async record(runId: string): Promise<RunRecord | null> {
    const record = await this.read(runKeys.record(runId), RunRecord);
    if (record === null || record.runId === runId) return record;
    throw new BusError('damaged', `the record of run ${runId} calls it ${record.runId}`);
  }

  async state(runId: string): Promise<RunState | null> {
    return this.read(runKeys.state(runId), RunState);
  }

  /**
   * Time that a run with a learner has spent in its phase, by the broker's clock, because clocks of hosts differ and
   * can be reset. Accurate to the interval of lease renewals.
   */
  async phaseAgeMs(runId: string): Promise<number> {
    const began = await this.bucket.writtenAt(runKeys.state(runId));
    const renewed = await this.bucket.writtenAt(runKeys.lease(runId));
    return Math.max(0, (renewed?.getTime() ?? 0) - (began?.getTime() ?? 0));
  }

  /** Time from a run's announcement to the start of its phase, by the broker's clock. */
  async phaseDelayMs(runId: string): Promise<number> {
    const announced = await this.bucket.writtenAt(runKeys.record(runId));
    const began = await this.bucket.writtenAt(runKeys.state(runId));
    return Math.max(0, (began?.getTime() ?? 0) - (announced?.getTime() ?? 0));
  }

  /** Null if the run was never paused. */
  async pause(runId: string): Promise<RunPause | null> {
    return this.read(runKeys.pause(runId), RunPause);
  }

  /**
   * Pauses a run, or continues it, and publishes the change as an event. Returns whether that changed anything.
   * Throws `BusError` `conflict` if the run has ended, or is unknown.
   */
  async setPause(runId: string, paused: boolean, reason?: string): Promise<boolean> {
    const state = await this.state(runId);
    if (state === null || FINAL_PHASES.includes(state.phase)) {
      const found = state === null ? 'this broker knows of no such run' : `it has ended: ${state.phase}`;
      throw new BusError('conflict', `run ${runId} can be neither paused nor continued: ${found}`);
    }
    const since = new Date().toISOString();
    const next: RunPause = { paused, since, reason };
    let isNew = false;
    const change = (current: RunPause | null): RunPause | null => {
      isNew = (current?.paused ?? false) !== paused;
      return isNew ? next : null;
    };
    await this.bucket.change(runKeys.pause(runId), change, RunPause);
    if (isNew) {
      await this.publisher.event({ type: 'pause', runId, paused, reason, at: since }, `pause.${since}`);
    }
    return isNew;
  }

  /** The current pause, if there ever was one, and each change, until the signal aborts. */
  async *watchPause(runId: string, signal?: AbortSignal): AsyncGenerator<RunPause> {
    yield* present(this.bucket.watch(runKeys.pause(runId), signal, RunPause));
  }

  async policy(runId: string): Promise<PolicyState | null> {
    return this.read(runKeys.policy(runId), PolicyState);
  }

  /** @throws LeaseLost if a later holder of the run's lease has written */
  async putPolicy(runId: string, policy: PolicyState): Promise<void> {
    const put = (current: PolicyState | null): PolicyState => {
      if ((current?.epoch ?? 0) <= policy.epoch) return policy;
      throw new LeaseLost(
        `run ${runId}: policy ${policy.version} of epoch ${policy.epoch} is not taken, epoch ${current!.epoch} has written`,
      );
    };
    await this.bucket.change(runKeys.policy(runId), put, PolicyState);
    this.announced.set(runId, policy);
  }

  /**
   * Waits to become the only learner of a run. When this resolves, earlier learners can no longer change the policy
   * state.
   * @throws LeaseLost when the signal aborts
   */
  async lease(runId: string, request: LeaseRequest): Promise<Lease> {
    const place = { bucket: this.bucket, key: runKeys.lease(runId) };
    const lease = await acquireLease(place, request, (await this.policy(runId))?.epoch);
    const fence = (current: PolicyState | null): PolicyState | null =>
      current === null || current.epoch >= lease.epoch
        ? null
        : Object.assign(new PolicyState(), current, { epoch: lease.epoch });
    try {
      await this.bucket.change(runKeys.policy(runId), fence, PolicyState);
      return lease;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async loader(runId: string): Promise<LoaderState | null> {
    return this.read(runKeys.loader(runId), LoaderState);
  }

  /**
   * Moves a run to a phase and publishes the change as an event. With `from`, only out of one of these phases (an
   * empty list: only if the run has no phase yet). An ended run stays ended. Returns whether the run is now in
   * `phase`.
   */
  async changePhase(
    runId: string,
    phase: RunPhase,
    options: { from?: RunPhase[]; reason?: string } = {},
  ): Promise<boolean> {
    const since = new Date().toISOString();
    const { from, reason } = options;
    const next = (current: RunState | null): RunState | null => {
      if (current?.phase === phase || !mayLeave(current, from)) return null;
      return { phase, since, reason };
    };
    const entry = await this.bucket.change(runKeys.state(runId), next, RunState);
    if (entry?.value.phase !== phase) return false;
    await this.publishPhase(runId, entry.value);
    return true;
  }

  /**
   * Publishes the event of the run's current phase if the last event names another: the process that changed the
   * phase died before publishing it.
   */
  async announcePhase(runId: string): Promise<void> {
    const subject = subjects.event(runId, 'phase');
    // Read first, so that a concurrent change is announced at most twice, with the same id.
    const last = await withRetry(`look up ${subject}`, this.broker, () =>
      this.broker.jsm.direct.getMessage(STREAMS.events, { last_by_subj: subject }),
    );
    const state = await this.state(runId);
    if (state === null) return;
    const read = last === null ? null : readJson(last.data, PhaseEvent);
    if (read?.ok === true && read.value.phase === state.phase && read.value.at === state.since) return;
    await this.publishPhase(runId, state);
  }

  /** The current phase and each change, until the signal aborts. */
  async *watchState(runId: string, signal?: AbortSignal): AsyncGenerator<RunState> {
    yield* present(this.bucket.watch(runKeys.state(runId), signal, RunState));
  }

  /** Waits until the run has ended or the signal aborts. */
  async untilOver(runId: string, signal?: AbortSignal): Promise<void> {
    for await (const { phase } of this.watchState(runId, signal)) if (FINAL_PHASES.includes(phase)) return;
  }

  /** The current policy state and each change, until the signal aborts. */
  async *watchPolicy(runId: string, signal?: AbortSignal): AsyncGenerator<PolicyState> {
    yield* present(this.bucket.watch(runKeys.policy(runId), signal, PolicyState));
  }

  /**
   * Open runs, each once: the existing ones, then each new one. With `runId` only that one. A run is repeated if the
   * broker lost the record of its end by returning with an older copy of its store.
   */
  async *watchOpen(runId?: string, signal?: AbortSignal): AsyncGenerator<RunSnapshot> {
    const seen = new Set<string>();
    for await (const change of this.bucket.watch(runKeys.state(runId ?? ANY), signal, RunState)) {
      const id = runOfKey(change.key);
      const state = change.value;
      if (state === null || FINAL_PHASES.includes(state.phase)) {
        seen.delete(id);
        this.open.delete(id);
        this.announced.delete(id);
        continue;
      }
      const record = this.open.get(id)?.record ?? (await this.readableRecord(id));
      if (record === null) continue;
      this.open.set(id, { record, state });
      if (seen.has(id)) continue;
      seen.add(id);
      yield { record, state };
    }
  }

  /** The state of every run. Invalid states are logged and omitted. */
  async states(): Promise<Map<string, RunState>> {
    const states = new Map<string, RunState>();
    for (const key of await this.bucket.keys(runKeys.state(ANY))) {
      const id = runOfKey(key);
      const state = await this.unlessDamaged(() => this.state(id));
      if (state !== null) states.set(id, state);
    }
    return states;
  }

  /** The first open run; waits for one. Null if the signal aborts first. */
  async waitForOpen(runId?: string, signal?: AbortSignal): Promise<RunSnapshot | null> {
    for await (const run of this.watchOpen(runId, signal)) return run;
    return null;
  }

  /** Adds a task to the queue of a run, like `nats pub uirl.task.<run>`. */
  async publishTask(runId: string, task: unknown, id: string): Promise<void> {
    await this.publisher.publishJson(subjects.task(runId), task, id);
  }

  private publishPhase(runId: string, { phase, since, reason }: RunState): Promise<void> {
    return this.publisher.event({ type: 'phase', runId, phase, reason, at: since }, `${phase}.${since}`);
  }

  /** Ignores an unreadable record, so that other runs continue. */
  private readableRecord(runId: string): Promise<RunRecord | null> {
    return this.unlessDamaged(() => this.record(runId));
  }

  private async unlessDamaged<T>(read: () => Promise<T | null>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof BusError) || error.category !== 'damaged') throw error;
      this.broker.logger.error(error.message);
      return null;
    }
  }

  /** Messages of a new run with the same name would count as duplicates of the deleted run's. */
  private async refuseRecentlyDeleted(runId: string): Promise<void> {
    const deletedAt = await this.bucket.deletedAt(runKeys.record(runId));
    const free = (deletedAt?.getTime() ?? 0) + DUPLICATE_WINDOW_MS;
    if (free <= Date.now()) return;
    throw new BusError(
      'conflict',
      `run ${runId} was deleted a moment ago: choose another name, or wait until ${new Date(free).toISOString()}`,
    );
  }

  /** Restores the phase and progress of open runs after the broker returned with an older store. */
  private async restore(): Promise<void> {
    try {
      for (const [runId, { record, state }] of this.open) {
        const lost = [
          await this.restoreKey(runKeys.record(runId), record),
          await this.restoreKey(runKeys.state(runId), state),
        ];
        if (lost.includes(true)) this.broker.logger.warn(`NATS no longer knew run ${runId}: announced again`);
      }
      for (const [runId, policy] of this.announced) await this.restorePolicy(runId, policy);
    } catch (error) {
      if (!this.broker.closing.aborted) {
        this.broker.logger.error(`open runs could not be looked after: ${describeError(error)}`);
      }
    }
  }

  private async restoreKey(key: string, value: unknown): Promise<boolean> {
    if ((await this.bucket.get(key)) !== null || (await this.bucket.deletedAt(key)) !== null) return false;
    return (await this.bucket.create(key, value)) !== null;
  }

  private async restorePolicy(runId: string, policy: PolicyState): Promise<void> {
    const key = runKeys.policy(runId);
    if ((await this.bucket.deletedAt(key)) !== null) return;
    const next = (current: PolicyState | null) => (isOlder(current, policy) ? policy : null);
    await this.bucket.change(key, next, PolicyState);
  }

  private async read<T>(key: string, schema: MessageClass<T>): Promise<T | null> {
    return (await this.bucket.get(key, schema))?.value ?? null;
  }
}

/** State written by a later lease holder is never older. */
function isOlder(current: PolicyState | null, { epoch, version, groupsRequested }: PolicyState): boolean {
  if (current === null) return true;
  return current.epoch <= epoch && (current.version < version || current.groupsRequested < groupsRequested);
}

function mayLeave(current: RunState | null, from: RunPhase[] | undefined): boolean {
  if (current !== null && FINAL_PHASES.includes(current.phase)) return false;
  if (from === undefined) return true;
  return current === null ? from.length === 0 : from.includes(current.phase);
}

async function* present<T>(changes: AsyncIterable<KvChange<T>>): AsyncGenerator<T> {
  for await (const change of changes) if (change.value !== null) yield change.value;
}
