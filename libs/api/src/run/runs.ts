import { BusError, FINAL_PHASES, type BusService, type RunUse } from '@ui-rl/bus';
import type { RunPhase } from '@ui-rl/contracts';

/** A run with data at a broker. */
export interface KnownRun {
  runId: string;
  /** Null if its keys are gone and only messages remain. */
  phase: RunPhase | null;
  /** ISO 8601 time at which that phase began. */
  since?: string;
  reason?: string;
  createdAt?: string;
  /** Number of steps of the current sampling policy. */
  step?: number;
}

export interface MeasuredRun extends KnownRun {
  /** Its storage at the broker, or its storage before deletion. */
  use: RunUse;
}

/** All runs that have data at the broker, oldest first. */
export async function listRuns(bus: BusService): Promise<KnownRun[]> {
  const runs = await Promise.all((await bus.runStorage.runIds()).map((runId) => readRun(bus, runId)));
  return runs.toSorted((a, b) => (a.createdAt ?? '').localeCompare(b.createdAt ?? ''));
}

/** A run and its storage. Rejects if the broker does not know the run. */
export async function showRun(bus: BusService, runId: string): Promise<MeasuredRun> {
  const [run, use] = await Promise.all([readRun(bus, runId), bus.runStorage.use(runId)]);
  const isKnown =
    use.keys.length + use.consumers.length + use.checkpoints.files > 0 ||
    use.messages.some(({ messages }) => messages > 0);
  if (!isKnown) throw new Error(`this broker knows of no run ${runId}: ui-rl runs list`);
  return { ...run, use };
}

/** Stops a run: its services finish their current work and leave it. Resolves to the phase in which the run was. */
export async function stopRun(
  bus: BusService,
  runId: string,
  { reason, dryRun = false }: { reason?: string; dryRun?: boolean } = {},
): Promise<RunPhase> {
  const before = await bus.runs.state(runId);
  if (before === null) throw new Error(`this broker knows of no run ${runId}: ui-rl runs list`);
  if (FINAL_PHASES.includes(before.phase)) throw new Error(`run ${runId} has ended already: ${before.phase}`);
  if (dryRun) return before.phase;
  const stopped = await bus.runs.changePhase(runId, 'stopped', { reason });
  if (stopped) return before.phase;
  throw new Error(`run ${runId} has ended meanwhile: ${(await bus.runs.state(runId))?.phase}`);
}

/** Runs that ended at least this long ago. */
export async function endedBefore(bus: BusService, days: number): Promise<string[]> {
  const latest = Date.now() - days * 86_400_000;
  const runs = await listRuns(bus);
  return runs
    .filter(({ phase, since }) => hasEnded(phase) && Date.parse(since ?? '') < latest)
    .map(({ runId }) => runId);
}

/**
 * Deletes the data of runs at the broker; with `dryRun` it only reports. Rejects before any deletion if one of them
 * has not ended, or the broker does not know it.
 */
export async function deleteRuns(
  bus: BusService,
  runIds: readonly string[],
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<MeasuredRun[]> {
  const runs: MeasuredRun[] = [];
  for (const runId of runIds) {
    const run = await showRun(bus, runId);
    if (run.phase !== null && !hasEnded(run.phase))
      throw new Error(`run ${runId} has not ended (${run.phase}): ui-rl runs stop ${runId}`);
    runs.push(run);
  }
  for (const { runId } of dryRun ? [] : runs) await bus.runStorage.delete(runId);
  return runs;
}

function hasEnded(phase: RunPhase | null): boolean {
  return phase !== null && FINAL_PHASES.includes(phase);
}

async function readRun(bus: BusService, runId: string): Promise<KnownRun> {
  const [record, state, policy] = await Promise.all([
    readable(bus.runs.record(runId)),
    readable(bus.runs.state(runId)),
    readable(bus.runs.policy(runId)),
  ]);
  const { phase = null, since, reason } = state ?? {};
  return { runId, phase, since, reason, createdAt: record?.createdAt, step: policy?.version };
}

/** Treats unreadable data as missing, so that such a run can still be shown and deleted. */
async function readable<T>(reading: Promise<T | null>): Promise<T | null> {
  return reading.catch((error: unknown) => {
    if (error instanceof BusError && error.category === 'damaged') return null;
    throw error;
  });
}
