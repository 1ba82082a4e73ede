import { BusError, FINAL_PHASES, type BusService, type RunUse } from '@ui-rl/bus';
import type { RunPhase } from '@ui-rl/contracts';

/** A run that a broker knows of. */
export interface KnownRun {
  runId: string;
  /** Null where its keys are gone, and only messages of it are left. */
  phase: RunPhase | null;
  /** ISO 8601 time at which that phase began. */
  since?: string;
  reason?: string;
  createdAt?: string;
  /** Steps behind the policy that samples now. */
  step?: number;
}

export interface MeasuredRun extends KnownRun {
  /** What it occupies at the broker, or occupied before it was deleted. */
  use: RunUse;
}

/** All runs that have left anything at the broker, the first that was created first. */
export async function listRuns(bus: BusService): Promise<KnownRun[]> {
  const runs = await Promise.all((await bus.runStorage.runIds()).map((runId) => readRun(bus, runId)));
  return runs.toSorted((a, b) => (a.createdAt ?? '').localeCompare(b.createdAt ?? ''));
}

/** A run and what it occupies. Rejects where the broker knows nothing of it. */
export async function showRun(bus: BusService, runId: string): Promise<MeasuredRun> {
  const [run, use] = await Promise.all([readRun(bus, runId), bus.runStorage.use(runId)]);
  const isKnown =
    use.keys.length + use.consumers.length + use.checkpoints.files > 0 ||
    use.messages.some(({ messages }) => messages > 0);
  if (!isKnown) throw new Error(`this broker knows of no run ${runId}: ui-rl runs list`);
  return { ...run, use };
}

/** Ends a run: its services finish what they are doing, and leave it. Resolves to the phase that it was in. */
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

/** Runs that ended so long ago. */
export async function endedBefore(bus: BusService, days: number): Promise<string[]> {
  const latest = Date.now() - days * 86_400_000;
  const runs = await listRuns(bus);
  return runs
    .filter(({ phase, since }) => hasEnded(phase) && Date.parse(since ?? '') < latest)
    .map(({ runId }) => runId);
}

/**
 * Frees what runs occupy at the broker; with `dryRun` it only says so. Rejects before anything is deleted where one of them has not
 * ended, or the broker knows nothing of it.
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

/** What nobody can read is as good as nothing: it can be shown and deleted all the same. */
async function readable<T>(reading: Promise<T | null>): Promise<T | null> {
  return reading.catch((error: unknown) => {
    if (error instanceof BusError && error.category === 'damaged') return null;
    throw error;
  });
}
