import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestFleet } from '../e2e/support/fleet';
import { problemsOf, remainsOf, type RunSize } from './checker';
import { type CrashPlan, CrashPoints } from './crash-points';

/** The result of a run with crashes. */
export interface CrashRun {
  /** Points at which a process crashed; the run did not reach the plan's other points. */
  crashed: string[];
  passed: Map<string, number>;
  /** Violated invariants at the end of the run. */
  problems: string[];
  seconds: number;
}

const SIZE: RunSize = { evaluated: 2, groupsPerBatch: 2, groupSize: 2, steps: 2 };
const RUN = {
  tasks: { source_type: 'demo_training', limit: SIZE.evaluated },
  rollout: { group_size: SIZE.groupSize, max_turns: 2 },
  training: { deterministic: true, seed: 5, groups_per_batch: SIZE.groupsPerBatch, max_steps: SIZE.steps },
};
const RUN_MS = 400_000;

/** A run with its own fleet, in which a process crashes at each point of the plan. */
export async function crashRun(plan: CrashPlan): Promise<CrashRun> {
  const began = Date.now();
  const folder = mkdtempSync(join(tmpdir(), 'uirl-crash-'));
  const points = new CrashPoints(folder, plan);
  const fleet = await TestFleet.start({ env: points.env });
  try {
    const problems = await problemsOfRun(fleet);
    const { crashed, passed } = points;
    // Killed processes have no exit code.
    const others = fleet.unexpectedEnds.filter((end) => !/^[a-z-]+ ended with null/.test(end));
    if (fleet.unexpectedEnds.length > crashed.length)
      others.push(`${fleet.unexpectedEnds.length} processes ended, ${crashed.length} were to`);
    return { crashed, passed, problems: [...problems, ...others], seconds: (Date.now() - began) / 1000 };
  } finally {
    await fleet.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function problemsOfRun(fleet: TestFleet): Promise<string[]> {
  const log = await fleet.createRun('crash', RUN);
  try {
    await fleet.completes(log, RUN_MS);
    const database = await fleet.openDatabase();
    try {
      return problemsOf(await remainsOf(log, fleet.bus, database), SIZE);
    } finally {
      await database.close();
    }
  } catch (error) {
    return [(error as Error).message];
  } finally {
    await log.stop();
  }
}
