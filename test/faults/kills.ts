import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@ui-rl/records';
import { Random } from '@ui-rl/random';
import { SERVICES, type TestFleet } from '../e2e/support/fleet';
import type { RunLog } from '../e2e/support/run-log';
import { problemsOf, remainsOf, type RunSize } from './checker';

/** The result of a run with random kills. */
export interface KillResult {
  seed: number;
  /** Process → number of kills. */
  kills: Record<string, number>;
  /** Violated invariants at the end of the run. */
  problems: string[];
  /** Weights after each step: the same for every seed. */
  digests: string[];
  /** Success rate of the last evaluation: the same for every seed. */
  success: number | null;
  seconds: number;
}

export interface Killing {
  runId: string;
  seed: number;
  /** Maximum number of kills; 0 for an undisturbed run. */
  most: number;
  /** Minimum and maximum pause before each, in ms; short pauses hit processes that are still restarting. */
  pauseMs: readonly [number, number];
}

export const SIZE: RunSize = { evaluated: 3, groupsPerBatch: 2, groupSize: 3, steps: 3 };
export const RUN = {
  rollout: { group_size: SIZE.groupSize, max_turns: 4 },
  training: { deterministic: true, seed: 5, groups_per_batch: SIZE.groupsPerBatch, max_steps: SIZE.steps },
};
const VICTIMS = [...SERVICES, 'nats-server'] as const;
const RUN_MS = 600_000;

/** Starts a run, kills services and the broker at random until it ends, and checks it. */
export async function runWithKills(fleet: TestFleet, killing: Killing): Promise<KillResult> {
  const began = Date.now();
  const endsBefore = fleet.unexpectedEnds.length;
  const log = await fleet.createRun(killing.runId, RUN);
  const ended = new AbortController();
  const kills: Record<string, number> = {};
  const killed = killAtRandom(fleet, killing, kills, ended.signal);
  try {
    const problems = await problemsAtEnd(fleet, log, () => {
      ended.abort();
      return killed;
    });
    return {
      seed: killing.seed,
      kills,
      problems: [...problems, ...fleet.unexpectedEnds.slice(endsBefore)],
      digests: log.events('checkpoint').map(({ adapterDigest }) => adapterDigest),
      success: log.events('evaluation').at(-1)?.successRate ?? null,
      seconds: Math.round((Date.now() - began) / 1000),
    };
  } finally {
    ended.abort();
    await killed;
    await log.stop();
  }
}

export function killsOf(results: readonly KillResult[]): number {
  return results.flatMap(({ kills }) => Object.values(kills)).reduce((sum, count) => sum + count, 0);
}

/** Differences from the undisturbed run. */
export function differences(result: KillResult, calm: KillResult): string[] {
  const outcome = ({ digests, success }: KillResult) => JSON.stringify({ digests, success });
  return outcome(result) === outcome(calm)
    ? []
    : [`undisturbed, the run came to ${outcome(calm)}, now to ${outcome(result)}`];
}

async function problemsAtEnd(
  fleet: TestFleet,
  log: RunLog,
  stopKilling: () => Promise<void>,
): Promise<string[]> {
  let database: Database | undefined;
  try {
    await fleet.reaches(log.runId, 'finished', RUN_MS);
    await stopKilling();
    await fleet.completes(log);
    database = await fleet.openDatabase();
    return problemsOf(await remainsOf(log, fleet.bus, database), SIZE);
  } catch (error) {
    return [(error as Error).message];
  } finally {
    await database?.close();
  }
}

async function killAtRandom(
  fleet: TestFleet,
  { seed, most, pauseMs: [shortest, longest] }: Killing,
  kills: Record<string, number>,
  signal: AbortSignal,
): Promise<void> {
  const random = new Random(seed);
  for (let count = 0; count < most;) {
    await delay(shortest + random.next() ** 2 * (longest - shortest), undefined, { signal }).catch(
      () => undefined,
    );
    if (signal.aborted) return;
    const victim = random.pick(VICTIMS);
    if (victim === 'nats-server') await fleet.nats.restart(Math.round(random.next() * 1_000));
    else if (!(await fleet.kill(victim))) continue;
    kills[victim] = (kills[victim] ?? 0) + 1;
    count += 1;
  }
}
