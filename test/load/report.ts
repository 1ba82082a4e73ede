import type { BrokerLoad } from './bare';
import type { BrokerReading } from './broker';
import type { Usage } from './usage';

export const SCENARIOS = ['none', 'learner', 'database'] as const;
/** The slow part. */
export type Slow = (typeof SCENARIOS)[number];

/** The simulated load and its durations. */
export interface Setting {
  actors: number;
  seconds: number;
  slow: Slow;
  answerMs: number;
  trainMs: number;
  openMs: number;
  stepMs: number;
  turns: number;
  screenshotBytes: number;
}

/** The fleet's state at one moment. */
export interface Reading {
  /** Seconds since the start of the measurement. */
  at: number;
  usage: Record<string, Usage>;
  broker: BrokerReading;
}

/** An episode in the measured time. */
export interface Episode {
  status: string;
  /** Milliseconds of each turn in addition to the simulated waits. */
  overheads: readonly number[];
}

export interface Growth {
  begin: number;
  most: number;
  end: number;
}

export interface BareRow {
  seconds: number;
  messagesPerSecond: number;
  megabytesPerSecond: number;
  /** CPU time of the broker per thousand messages, in milliseconds: with the bare client, and with the fleet. */
  brokerMsPerThousand: number;
  fleetMsPerThousand: number;
}

export interface Row extends Setting {
  commit: string;
  /** Measured seconds, from the start of the second step. */
  measured: number;
  episodes: number;
  /** Invalid ones among them. */
  invalid: number;
  trajectoriesPerSecond: number;
  /** The rate of the same number of actors if only the simulated waits took time. */
  idealPerSecond: number;
  steps: number;
  messagesPerSecond: { in: number; out: number };
  megabytesPerSecond: { in: number; out: number };
  /** Milliseconds per turn in addition to the simulated waits. */
  turnOverheadMs: { median: number; p95: number; most: number };
  /** Used CPU cores; 1 is one full core. */
  cpu: Record<string, number>;
  /** MB. */
  memory: Record<string, Growth>;
  /** Backlog of each consumer: undelivered and unacknowledged messages. */
  waiting: Record<string, Growth>;
  unacknowledged: Record<string, Growth>;
  redelivered: number;
  slowConsumers: number;
  /** MB stored in streams. */
  streams: Record<string, Growth>;
  bare: BareRow | null;
  /** Seconds until the monitor had written everything after the measured time; null if it took more than a minute. */
  recordedAfterSeconds: number | null;
}

/** The keys of the setting: rows with equal values belong to the same measurement. */
export const SETTING_KEYS = [
  ...['actors', 'seconds', 'slow', 'answerMs', 'trainMs', 'openMs', 'stepMs', 'turns', 'screenshotBytes'],
] as (keyof Setting)[];

const CLOSE_MS = 50;
const MEGABYTE = 1e6;

export function isOf(row: Setting, setting: Setting): boolean {
  return SETTING_KEYS.every((key) => row[key] === setting[key]);
}

/** Simulated milliseconds of an episode. */
export function episodeMs({ openMs, stepMs, answerMs, turns }: Setting): number {
  return openMs + turns * (stepMs + answerMs) + CLOSE_MS;
}

/** The results between two readings. */
export function figuresOf(
  setting: Setting,
  readings: readonly Reading[],
  episodes: readonly Episode[],
): Omit<Row, 'commit' | 'bare' | 'steps' | 'recordedAfterSeconds'> {
  const [first, last] = [readings[0], readings.at(-1)!];
  const measured = last.at - first.at;
  const rate = (of: (reading: Reading) => number): number => (of(last) - of(first)) / measured;
  const counters = ({ broker }: Reading) => broker.counters;
  return {
    ...setting,
    measured,
    episodes: episodes.length,
    invalid: episodes.filter(({ status }) => status === 'invalid').length,
    trajectoriesPerSecond: episodes.length / measured,
    idealPerSecond: (setting.actors * 1000) / episodeMs(setting),
    messagesPerSecond: {
      in: rate((reading) => counters(reading).inMessages),
      out: rate((reading) => counters(reading).outMessages),
    },
    megabytesPerSecond: {
      in: rate((reading) => counters(reading).inBytes) / MEGABYTE,
      out: rate((reading) => counters(reading).outBytes) / MEGABYTE,
    },
    turnOverheadMs: spread(episodes.flatMap(({ overheads }) => overheads)),
    cpu: Object.fromEntries(
      Object.keys(last.usage).map((name) => [name, rate(({ usage }) => usage[name]?.cpu ?? 0)]),
    ),
    memory: growths(readings, ({ usage }) => mapped(usage, ({ memory }) => memory)),
    waiting: growths(readings, ({ broker }) => mapped(broker.lags, ({ waiting }) => waiting)),
    unacknowledged: growths(readings, ({ broker }) =>
      mapped(broker.lags, ({ unacknowledged }) => unacknowledged),
    ),
    redelivered: Object.values(last.broker.lags).reduce((sum, { redelivered }) => sum + redelivered, 0),
    slowConsumers: counters(last).slowConsumers - counters(first).slowConsumers,
    streams: growths(readings, ({ broker }) => mapped(broker.streams, ({ bytes }) => bytes / MEGABYTE)),
  };
}

/**
 * The broker's traffic between two readings: as many messages as were stored in streams, with the mean size of the
 * stored ones, and all others. Excludes an acknowledgement per stored message, since a replay sends it, too.
 */
export function loadBetween(first: Reading, last: Reading): BrokerLoad {
  const stored = { messages: 0, bytes: 0 };
  for (const [name, now] of Object.entries(last.broker.streams)) {
    const before = first.broker.streams[name];
    const messages = now.stored - (before?.stored ?? 0);
    const held = now.messages > 0 ? now : before;
    const size = held === undefined || held.messages === 0 ? 0 : held.bytes / held.messages;
    stored.messages += messages;
    stored.bytes += messages * size;
  }
  const difference = (key: 'inMessages' | 'inBytes'): number =>
    last.broker.counters[key] - first.broker.counters[key];
  const passed = {
    messages: Math.max(0, difference('inMessages') - 2 * stored.messages),
    bytes: Math.max(0, difference('inBytes') - stored.bytes),
  };
  return { stored, passed };
}

/** A fraction of the traffic. */
export function partOf({ stored, passed }: BrokerLoad, share: number): BrokerLoad {
  const part = ({ messages, bytes }: BrokerLoad['stored']) => ({
    messages: Math.round(messages * share),
    bytes: Math.round(bytes * share),
  });
  return { stored: part(stored), passed: part(passed) };
}

/** Rows by size of the fleet, as text. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => {
    const { actors, slow, measured, turnOverheadMs: over, cpu, bare } = row;
    const memory = Object.values(row.memory).reduce((sum, { most }) => sum + most, 0);
    return [
      ...[`${actors}${slow === 'none' ? '' : `, slow ${slow}`}`, measured.toFixed(0)],
      `${row.trajectoriesPerSecond.toFixed(1)} of ${row.idealPerSecond.toFixed(1)}`,
      ...[row.invalid, row.messagesPerSecond.in.toFixed(0), row.megabytesPerSecond.in.toFixed(1)],
      `${over.median.toFixed(0)} / ${over.p95.toFixed(0)}`,
      sum(Object.values(cpu)).toFixed(2),
      `${((100 * (cpu.broker ?? 0)) / Math.max(sum(Object.values(cpu)), 1e-9)).toFixed(0)} %`,
      bare === null ? '–' : `${bare.fleetMsPerThousand.toFixed(0)} / ${bare.brokerMsPerThousand.toFixed(0)}`,
      memory.toFixed(0),
    ];
  });
  const head = [
    ...[
      'actors',
      'seconds',
      'trajectories/s',
      'invalid',
      'messages/s',
      'MB/s',
      'ms beyond a turn, median / p95',
    ],
    ...['processors', 'broker', 'broker ms per 1000 messages, fleet / bare client', 'memory, MB'],
  ];
  const line = (of: readonly unknown[]): string => `| ${of.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...cells.map(line)].join('\n');
}

/** CPU, memory and backlogs of a size, by part. */
export function details(row: Row): string {
  const lines = Object.keys(row.memory).map((name) => {
    const { begin, most, end } = row.memory[name];
    const cpu = (row.cpu[name] ?? 0).toFixed(2);
    return `  ${name}: ${cpu} processors, ${begin.toFixed(0)} → ${end.toFixed(0)} MB, ${most.toFixed(0)} at most`;
  });
  const piles = [
    ...Object.entries(row.waiting).map(([name, growth]) => [`${name} waiting`, growth] as const),
    ...Object.entries(row.unacknowledged).map(
      ([name, growth]) => [`${name} unacknowledged`, growth] as const,
    ),
    ...Object.entries(row.streams).map(([name, growth]) => [`${name} MB`, growth] as const),
  ];
  for (const [name, { begin, most, end }] of piles) {
    if (most > 1)
      lines.push(`  ${name}: ${[begin, end, most].map((value) => value.toFixed(0)).join(' → ')} at most`);
  }
  return lines.join('\n');
}

function growths(
  readings: readonly Reading[],
  of: (reading: Reading) => Record<string, number>,
): Record<string, Growth> {
  const all = readings.map(of);
  const names = new Set(all.flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    [...names].map((name) => {
      const values = all.map((each) => each[name] ?? 0);
      return [name, { begin: values[0], most: Math.max(...values), end: values.at(-1)! }];
    }),
  );
}

function mapped<T>(record: Record<string, T>, of: (value: T) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, of(value)]));
}

function spread(values: readonly number[]): Row['turnOverheadMs'] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return { median: at(0.5), p95: at(0.95), most: at(1) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
