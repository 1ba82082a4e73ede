import { setTimeout as delay } from 'node:timers/promises';
import { stopRun } from '@ui-rl/api';
import { STREAMS, subjects, Trajectory } from '@ui-rl/contracts';
import { playBare, type BrokerLoad } from './bare';
import { readBroker } from './broker';
import { LoadFleet } from './fleet';
import {
  type BareRow,
  type Episode,
  episodeMs,
  figuresOf,
  loadBetween,
  partOf,
  type Reading,
  type Row,
  type Setting,
} from './report';
import { databasePids, readUsage } from './usage';

export interface MeasureOptions {
  onProgress: (line: string) => void;
  onReading: (reading: Reading) => void;
  /** Maximum seconds of traffic that the bare client replays. */
  bareSeconds?: number;
}

const READ_EVERY_MS = 2_000;
const BARE_SECONDS = 10;
const RECORDED_MS = 60_000;
/** The fractions of the measured time at which the database is stopped and resumed. */
const PAUSE = { from: 0.25, until: 0.75 };

/**
 * Plays a run with a fleet of that size, measures it for some time after training has started, then replays its
 * traffic with the bare client on the same broker while the fleet is idle.
 */
export async function measure(setting: Setting, options: MeasureOptions): Promise<Omit<Row, 'commit'>> {
  const say = options.onProgress;
  say(`starting ${setting.actors} actors`);
  const load = await LoadFleet.start(setting.actors, say);
  try {
    const runId = `load-${setting.actors}`;
    await load.createRun(runId, setting);
    await settled(load, runId, setting, say);
    const began = Date.now();
    const readings = await readFor(load, setting, options);
    const ended = Date.now();
    const recordedAfterSeconds = await recorded(load, say);
    await stopRun(load.fleet.bus, runId);
    await load.fleet.reaches(runId, 'stopped');
    say('reading the trajectories');
    const episodes = await episodesBetween(load, runId, setting, began, ended);
    const steps = (await load.fleet.bus.runs.policy(runId))?.version ?? 0;
    const bare = await bareRow(load, readings, options);
    if (load.unexpectedEnds.length > 0) throw new Error(load.unexpectedEnds.join('\n'));
    return { ...figuresOf(setting, readings, episodes), steps, bare, recordedAfterSeconds };
  } finally {
    await load.stop();
  }
}

/** Waits until training has started and each actor may have finished an episode. */
async function settled(
  { fleet }: LoadFleet,
  runId: string,
  setting: Setting,
  say: (line: string) => void,
): Promise<void> {
  const limitMs = 120_000 + setting.actors * 300;
  await fleet.reaches(runId, 'training', limitMs);
  say('it trains');
  const played = () => fleet.bus.storedCount(STREAMS.trajectories, subjects.trajectory(runId, 'train'));
  await fleet.until('the first episodes', async () => (await played()) >= setting.actors / 2, limitMs, 500);
  await delay(episodeMs(setting) / 2);
}

async function readFor(load: LoadFleet, setting: Setting, options: MeasureOptions): Promise<Reading[]> {
  const { seconds, slow } = setting;
  const began = performance.now();
  const readings: Reading[] = [];
  const elapsed = (): number => (performance.now() - began) / 1000;
  const database = new DatabasePause();
  try {
    do {
      if (readings.length > 0) await delay(Math.min(READ_EVERY_MS, Math.max(0, seconds - elapsed()) * 1000));
      const part = elapsed() / seconds;
      if (slow === 'database') database.set(part >= PAUSE.from && part < PAUSE.until);
      const reading = await read(load, elapsed());
      readings.push(reading);
      options.onReading(reading);
      if (readings.length % 5 === 1) options.onProgress(progressOf(reading, seconds));
    } while (readings.at(-1)!.at < seconds);
    return readings;
  } finally {
    database.set(false);
  }
}

async function read({ fleet, actorPids, jsm, monitoring }: LoadFleet, at: number): Promise<Reading> {
  const usage = readUsage(fleet, actorPids);
  return { at, usage, broker: await readBroker(jsm, monitoring) };
}

function progressOf({ at, broker }: Reading, seconds: number): string {
  const waiting = broker.lags[`${STREAMS.trajectories} monitor-trajectories`]?.waiting ?? 0;
  const stored = broker.streams[STREAMS.trajectories]?.stored ?? 0;
  return `${at.toFixed(0)} of ${seconds} s: ${stored} trajectories so far, ${waiting} wait for the monitor`;
}

/** Stops and resumes the processes of PostgreSQL. */
class DatabasePause {
  private stopped: number[] = [];
  private readonly resume = (): void => this.set(false);

  set(stop: boolean): void {
    if (stop === this.stopped.length > 0) return;
    if (stop) {
      this.stopped = databasePids();
      process.once('exit', this.resume);
      for (const pid of this.stopped) process.kill(pid, 'SIGSTOP');
      return;
    }
    for (const pid of this.stopped) {
      try {
        process.kill(pid, 'SIGCONT');
      } catch {
        // It has ended.
      }
    }
    this.stopped = [];
    process.removeListener('exit', this.resume);
  }
}

/** Seconds until the monitor has processed its backlog; null after a minute. */
async function recorded({ fleet }: LoadFleet, say: (line: string) => void): Promise<number | null> {
  const began = performance.now();
  say('waiting for the monitor');
  const durables = [
    [STREAMS.trajectories, 'monitor-trajectories'],
    [STREAMS.events, 'monitor-events'],
  ] as const;
  while (performance.now() - began < RECORDED_MS) {
    const backlogs = await Promise.all(
      durables.map(([stream, durable]) => fleet.bus.backlog(stream, durable)),
    );
    if (backlogs.every((backlog) => (backlog?.waiting ?? 0) === 0)) return (performance.now() - began) / 1000;
    await delay(200);
  }
  return null;
}

/** Training episodes that finished in that time. */
async function episodesBetween(
  { fleet }: LoadFleet,
  runId: string,
  { answerMs, stepMs }: Setting,
  began: number,
  ended: number,
): Promise<Episode[]> {
  const episodes: Episode[] = [];
  const subject = subjects.trajectory(runId, 'train');
  for await (const { status, turns, finishedAt } of fleet.bus.stored(
    STREAMS.trajectories,
    subject,
    Trajectory,
  )) {
    const at = Date.parse(finishedAt);
    if (at < began || at > ended) continue;
    const overheads = turns.map(({ policyMs, envMs }) => policyMs - answerMs + envMs - stepMs);
    episodes.push({ status, overheads });
  }
  return episodes;
}

async function bareRow(
  load: LoadFleet,
  readings: readonly Reading[],
  { bareSeconds = BARE_SECONDS, onProgress }: MeasureOptions,
): Promise<BareRow | null> {
  const [first, last] = [readings[0], readings.at(-1)!];
  const all = loadBetween(first, last);
  const whole = last.at - first.at;
  const played: BrokerLoad = partOf(all, Math.min(1, bareSeconds / whole));
  if (played.stored.messages + played.passed.messages === 0) return null;
  onProgress('the bare client sends the same');
  const before = await read(load, 0);
  const { seconds, messages, bytes } = await playBare(load.fleet.nats.url, played);
  const after = await read(load, seconds);
  const cpuMs = (from: Reading, to: Reading): number =>
    1000 * ((to.usage.broker?.cpu ?? 0) - (from.usage.broker?.cpu ?? 0));
  const messagesIn = (from: Reading, to: Reading): number =>
    to.broker.counters.inMessages - from.broker.counters.inMessages;
  const perThousand = (from: Reading, to: Reading): number =>
    (1000 * cpuMs(from, to)) / Math.max(1, messagesIn(from, to));
  return {
    seconds,
    messagesPerSecond: messages / seconds,
    megabytesPerSecond: bytes / 1e6 / seconds,
    brokerMsPerThousand: perThousand(before, after),
    fleetMsPerThousand: perThousand(first, last),
  };
}
