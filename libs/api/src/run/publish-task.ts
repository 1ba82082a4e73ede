import { randomUUID } from 'node:crypto';
import { FINAL_PHASES, type BusService } from '@ui-rl/bus';

const WAIT_MS = 3_000;

/**
 * Puts a task into the queue of a run: its description, or a whole task as JSON. Without a run it is the one that is going
 * on. Resolves to the run's id; rejects where that run has ended.
 */
export async function publishTask(
  bus: BusService,
  description: string,
  run: string | undefined,
): Promise<string> {
  const runId = run ?? (await onlyOpenRun(bus));
  const state = await bus.runs.state(runId);
  if (state !== null && FINAL_PHASES.includes(state.phase))
    throw new Error(`run ${runId} has ended (${state.phase}): nothing is played for it any more`);
  const task: unknown = description.trim().startsWith('{') ? JSON.parse(description) : { description };
  await bus.runs.publishTask(runId, task, randomUUID());
  return runId;
}

async function onlyOpenRun(bus: BusService): Promise<string> {
  const run = await bus.runs.waitForOpen(undefined, AbortSignal.timeout(WAIT_MS));
  if (run === null)
    throw new Error('no run is going on at this broker; start one (ui-rl train) or name one with --run');
  return run.record.runId;
}
