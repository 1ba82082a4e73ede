import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deleteRuns, stopRun } from '@ui-rl/api';
import { type Trend, trendOf } from '@ui-rl/testkit';
import { TestFleet } from '../e2e/support/fleet';
import { type Reading, readGauges } from './gauges';

export interface SoakOptions {
  minutes: number;
  /** Minutes at the start that are excluded from the trends. */
  settling: number;
  actors: number;
  /** Called at the end of each run. */
  onRun: (run: SoakRun) => void;
  onReading: (reading: TimedReading) => void;
}

export interface SoakRun {
  runId: string;
  phase: string;
  seconds: number;
  steps: number;
  episodes: number;
}

export interface TimedReading {
  /** Minutes since the first run started. */
  at: number;
  reading: Reading;
}

export interface SoakResult {
  runs: number;
  episodes: number;
  /** By gauge; slopes per hour. */
  trends: Record<string, Trend>;
  /** Services that ended unexpectedly. */
  unexpectedEnds: readonly string[];
}

const READ_EVERY_MS = 30_000;
const BLOCK_MINUTES = 5;
/** Ended runs that are kept on the broker and on disk; older ones are deleted, as by an operator. */
const KEPT_RUNS = 3;
/** Every n-th run is stopped by its user halfway. */
const STOPPED = 4;
const RUN_MS = 900_000;
const RUN = {
  environment: { max_sessions: 8 },
  rollout: { group_size: 4, concurrency: 16, max_turns: 4 },
  training: { groups_per_batch: 4, max_steps: 4 },
};

/** Consecutive runs on one fleet, whose processes live through all of them. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { minutes, settling, actors, onRun } = options;
  const fleet = await TestFleet.start({ database: 'postgres', copies: { actor: actors } });
  const began = performance.now();
  const measuring = new AbortController();
  const measured = measure(fleet, began, options, measuring.signal);
  const ended: SoakRun[] = [];
  try {
    while (performance.now() - began < minutes * 60_000) {
      ended.push(await play(fleet, ended.length + 1));
      onRun(ended.at(-1)!);
      await forget(fleet, ended.at(-1 - KEPT_RUNS));
    }
    measuring.abort();
    const readings = await measured;
    return {
      runs: ended.length,
      episodes: ended.reduce((sum, { episodes }) => sum + episodes, 0),
      trends: trendsOf(readings, Math.min(settling, minutes / 4)),
      unexpectedEnds: fleet.unexpectedEnds,
    };
  } finally {
    measuring.abort();
    await measured.catch(() => undefined);
    await fleet.stop();
  }
}

/**
 * Trends of each gauge per hour, over the means of blocks of readings: consecutive readings are correlated, which
 * would underestimate the error of the slope.
 */
export function trendsOf(readings: readonly TimedReading[], settling: number): Record<string, Trend> {
  const blocks = new Map<number, TimedReading[]>();
  for (const reading of readings.filter(({ at }) => at >= settling)) {
    const block = Math.floor(reading.at / BLOCK_MINUTES);
    blocks.set(block, [...(blocks.get(block) ?? []), reading]);
  }
  const names = new Set(readings.flatMap(({ reading }) => Object.keys(reading)));
  return Object.fromEntries(
    [...names].toSorted().map((name) => {
      const points = [...blocks.values()].map((block): [number, number] => [
        mean(block.map(({ at }) => at)) / 60,
        mean(block.map(({ reading }) => reading[name] ?? 0)),
      ]);
      return [name, trendOf(points, 0)];
    }),
  );
}

/** Whether a gauge grows significantly, by more than a fiftieth per hour. */
export function grows({ begin, slope, error }: Trend): boolean {
  return slope !== null && error !== null && slope - 2 * error > begin / 50;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

async function measure(
  fleet: TestFleet,
  began: number,
  { onReading }: SoakOptions,
  signal: AbortSignal,
): Promise<TimedReading[]> {
  const readings: TimedReading[] = [];
  while (!signal.aborted) {
    const at = (performance.now() - began) / 60_000;
    readings.push({ at, reading: await readGauges(fleet) });
    onReading(readings.at(-1)!);
    await delay(READ_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return readings;
}

async function play(fleet: TestFleet, number: number): Promise<SoakRun> {
  const runId = `soak-${number}`;
  const began = performance.now();
  const log = await fleet.createRun(runId, RUN);
  try {
    if (number % STOPPED === 0) {
      await fleet.until(`a step of ${runId}`, () => log.steps.length > 0, RUN_MS);
      await stopRun(fleet.bus, runId);
      await log.ends();
    } else {
      await fleet.completes(log, RUN_MS);
    }
    const { phase } = (await fleet.bus.runs.state(runId))!;
    const seconds = Math.round((performance.now() - began) / 1000);
    return { runId, phase, seconds, steps: log.steps.length, episodes: log.trajectories.length };
  } finally {
    await log.stop();
  }
}

/** Does what `ui-rl runs delete` does, and deletes the run's folder on the learner's disk. */
async function forget(fleet: TestFleet, run: SoakRun | undefined): Promise<void> {
  if (run === undefined) return;
  await deleteRuns(fleet.bus, [run.runId]);
  rmSync(join(fleet.runsDir, run.runId), { recursive: true, force: true });
}
