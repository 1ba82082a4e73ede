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

/** Phases after which nothing happens to a run any more. */
export const FINAL_PHASES: readonly RunPhase[] = ['finished', 'failed', 'stopped'];

/** A run file as everybody may see it. */
export type ShownRunFile = Pick<RunCreatedEvent, 'config' | 'configuration'>;

export interface RunSnapshot {
  record: RunRecord;
  state: RunState;
}

/** The runs the broker knows: their run files, phases and what the services publish about them. */
export class RunDirectory {
  /** Runs that this process has seen open, as it saw them last. */
  private readonly open = new Map<string, RunSnapshot>();
  /** The policies that this process announced last. */
  private readonly announced = new Map<string, PolicyState>();

  constructor(
    private readonly broker: Broker,
    private readonly publisher: Publisher,
    private readonly bucket: KvBucket,
  ) {
    // Actors, env services and monitors are not trusted with it: docs/operations/broker.md.
    if (mayWriteKey(broker.service, runKeys.record(ANY))) broker.onReconnect(() => void this.restore());
  }

  /**
   * Announces a run: every service that waits for one picks it up. Telling the same run twice changes nothing.
   * Throws `BusError` `conflict` where the id is taken by another run, or was until a moment ago.
   * @param shown what is recorded of the run file, where it is not the whole of it
   */
  async create(record: RunRecord, phase: RunPhase = 'baseline', shown?: ShownRunFile): Promise<void> {
    const { runId, config, createdAt: at } = record;
    if (!isRunId(runId))
      throw new BusError('configuration', `"${runId}" is no run id: letters, digits, - and _`);
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

  /** Throws `BusError` `damaged` also where it is the record of another run. */
  async record(runId: string): Promise<RunRecord | null> {
    const record = await this.read(runKeys.record(runId), RunRecord);
    if (record === null || record.runId === runId) return record;
    throw new BusError('damaged', `the record of run ${runId} calls it ${record.runId}`);
  }

  async state(runId: string): Promise<RunState | null> {
    return this.read(runKeys.state(runId), RunState);
  }

  /**
   * For how long a run with a learner has been in its phase, by the broker's clock: those of hosts differ, and are set. Exact to the
   * seconds between two renewals of the run's lease.
   */
  async phaseAgeMs(runId: string): Promise<number> {
    const began = await this.bucket.writtenAt(runKeys.state(runId));
    const renewed = await this.bucket.writtenAt(runKeys.lease(runId));
    return Math.max(0, (renewed?.getTime() ?? 0) - (began?.getTime() ?? 0));
  }

  /** How long after its announcement a run came into its phase, by the broker's clock. */
  async phaseDelayMs(runId: string): Promise<number> {
    const announced = await this.bucket.writtenAt(runKeys.record(runId));
    const began = await this.bucket.writtenAt(runKeys.state(runId));
    return Math.max(0, (began?.getTime() ?? 0) - (announced?.getTime() ?? 0));
  }

  async policy(runId: string): Promise<PolicyState | null> {
    return this.read(runKeys.policy(runId), PolicyState);
  }

  /** @throws LeaseLost where a learner has written that came to hold the run later */
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
   * Waits to be the one learner of a run. When this resolves, the policy state of those before is as they left it for good.
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
   * Moves a run to a phase and publishes that as an event. Where `from` is given, only out of one of these (an empty list:
   * only where the run has no phase yet); a run that has ended stays ended. Returns whether the run now is in `phase`.
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
      return { phase, since, ...(reason === undefined ? {} : { reason }) };
    };
    const entry = await this.bucket.change(runKeys.state(runId), next, RunState);
    if (entry?.value.phase !== phase) return false;
    await this.publishPhase(runId, entry.value);
    return true;
  }

  /** Publishes the event of the phase that a run is in, where its last one is another: whoever changed it ended before that. */
  async announcePhase(runId: string): Promise<void> {
    const subject = subjects.event(runId, 'phase');
    // First, so that what somebody changes meanwhile is announced at most twice, under one id.
    const last = await withRetry(`look up ${subject}`, this.broker, () =>
      this.broker.jsm.direct.getMessage(STREAMS.events, { last_by_subj: subject }),
    );
    const state = await this.state(runId);
    if (state === null) return;
    const read = last === null ? null : readJson(last.data, PhaseEvent);
    if (read?.ok === true && read.value.phase === state.phase && read.value.at === state.since) return;
    await this.publishPhase(runId, state);
  }

  /** The phase now and after each change, until the signal aborts. */
  async *watchState(runId: string, signal?: AbortSignal): AsyncGenerator<RunState> {
    yield* present(this.bucket.watch(runKeys.state(runId), signal, RunState));
  }

  /** Waits until nothing happens to the run any more, or the signal aborts. */
  async untilOver(runId: string, signal?: AbortSignal): Promise<void> {
    for await (const { phase } of this.watchState(runId, signal)) if (FINAL_PHASES.includes(phase)) return;
  }

  /** The policy state now and after each change, until the signal aborts. */
  async *watchPolicy(runId: string, signal?: AbortSignal): AsyncGenerator<PolicyState> {
    yield* present(this.bucket.watch(runKeys.policy(runId), signal, PolicyState));
  }

  /**
   * Runs that have not ended, each once: those there are, then each new one. With `runId` only that one. A run comes again whose end
   * a broker no longer knows that came back on an older copy of its store.
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

  /** The state of every run; those whose state cannot be read are left out, and logged. */
  async states(): Promise<Map<string, RunState>> {
    const states = new Map<string, RunState>();
    for (const key of await this.bucket.keys(runKeys.state(ANY))) {
      const id = runOfKey(key);
      const state = await this.unlessDamaged(() => this.state(id));
      if (state !== null) states.set(id, state);
    }
    return states;
  }

  /** The first run that has not ended; waits for one. Null when the signal aborts first. */
  async waitForOpen(runId?: string, signal?: AbortSignal): Promise<RunSnapshot | null> {
    for await (const run of this.watchOpen(runId, signal)) return run;
    return null;
  }

  /** Puts a task into the queue of a run, as `nats pub uirl.task.<run>` does. */
  async publishTask(runId: string, task: unknown, id: string): Promise<void> {
    await this.publisher.publishJson(subjects.task(runId), task, id);
  }

  private publishPhase(runId: string, { phase, since, reason }: RunState): Promise<void> {
    return this.publisher.event({ type: 'phase', runId, phase, reason, at: since }, `${phase}.${since}`);
  }

  /** A record that nobody can read is no run for anybody; the others go on. */
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

  /** Messages of a run that is called the same would pass for those of the deleted one, published twice. */
  private async refuseRecentlyDeleted(runId: string): Promise<void> {
    const deletedAt = await this.bucket.deletedAt(runKeys.record(runId));
    const free = (deletedAt?.getTime() ?? 0) + DUPLICATE_WINDOW_MS;
    if (free <= Date.now()) return;
    throw new BusError(
      'conflict',
      `run ${runId} was deleted a moment ago: choose another name, or wait until ${new Date(free).toISOString()}`,
    );
  }

  /** Writes down what a broker has lost of open runs that came back on a store of before: that they are, and how far they have come. */
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

/** What a learner wrote that came to hold the run later is never older. */
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
