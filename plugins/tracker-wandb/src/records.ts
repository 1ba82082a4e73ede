import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Field numbers of `wandb/proto/wandb_internal.proto`. */
const RECORD = { num: 1, history: 2, summary: 3, metric: 12, run: 17, exit: 18, header: 21 } as const;
const HISTORY = { item: 1, step: 2 } as const;
const SUMMARY = { update: 1 } as const;
const ITEM = { key: 1, nestedKey: 2, valueJson: 16 } as const;
const METRIC = { globName: 2, stepMetric: 4, options: 6 } as const;
const METRIC_OPTIONS = { stepSync: 1, defined: 3 } as const;
const RUN = { runId: 1, project: 3, config: 4, displayName: 7, tags: 10, host: 13, startTime: 17 } as const;
const CONFIG = { update: 1 } as const;
const HEADER = { versionInfo: 1 } as const;
const VERSION = { producer: 1, minConsumer: 2 } as const;

/** The oldest client that reads these records. */
const MIN_CLIENT = '0.13.0';
/** The x-axis of charts: rows are in order of time, and evaluations arrive after later steps. */
export const STEP_METRIC = 'progress/batch';

export interface RunDescription {
  id: string;
  project: string;
  name: string;
  tags: readonly string[];
  host: string;
  /** ISO 8601. */
  startedAt: string;
  config: Readonly<Record<string, unknown>>;
}

export interface Row {
  /** Metric name → value; `progress/batch` is the step. */
  metrics: Readonly<Record<string, number>>;
  /** ISO 8601. */
  at: string;
}

type Write = (writer: BinaryWriter) => void;

export function headerRecord(num: number): Uint8Array {
  return record(num, RECORD.header, (header) =>
    message(header, HEADER.versionInfo, (version) => {
      text(version, VERSION.producer, 'ui-rl');
      text(version, VERSION.minConsumer, MIN_CLIENT);
    }),
  );
}

export function runRecord(
  num: number,
  { id, project, name, tags, host, startedAt, config }: RunDescription,
): Uint8Array {
  return record(num, RECORD.run, (run) => {
    text(run, RUN.runId, id);
    text(run, RUN.project, project);
    message(run, RUN.config, (inner) => items(inner, CONFIG.update, config));
    text(run, RUN.displayName, name);
    for (const tag of tags) text(run, RUN.tags, tag);
    text(run, RUN.host, host);
    message(run, RUN.startTime, (time) => timestamp(time, startedAt));
  });
}

export function stepMetricRecord(num: number): Uint8Array {
  return record(num, RECORD.metric, (metric) => {
    text(metric, METRIC.globName, '*');
    text(metric, METRIC.stepMetric, STEP_METRIC);
    message(metric, METRIC.options, (options) => {
      options.tag(METRIC_OPTIONS.stepSync, WireType.Varint).bool(true);
      options.tag(METRIC_OPTIONS.defined, WireType.Varint).bool(true);
    });
  });
}

/** A row of the history, and the summary of newest values on the run's page. */
export function rowRecords(num: number, row: number, { metrics, at }: Row, startedAt: string): Uint8Array[] {
  const seconds = Date.parse(at) / 1000;
  const values = {
    ...metrics,
    _step: row,
    _timestamp: seconds,
    _runtime: Math.max(0, seconds - Date.parse(startedAt) / 1000),
  };
  return [
    record(num, RECORD.summary, (summary) => items(summary, SUMMARY.update, values)),
    record(num + 1, RECORD.history, (history) => {
      items(history, HISTORY.item, values);
      message(history, HISTORY.step, (step) => step.tag(1, WireType.Varint).int64(row));
    }),
  ];
}

export function exitRecord(num: number): Uint8Array {
  return record(num, RECORD.exit, () => undefined);
}

function record(num: number, field: number, write: Write): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(RECORD.num, WireType.Varint).int64(num);
  message(writer, field, write);
  return writer.finish();
}

function items(writer: BinaryWriter, field: number, values: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(values)) {
    message(writer, field, (item) => {
      text(item, ITEM.nestedKey, key);
      text(item, ITEM.valueJson, jsonOf(value));
    });
  }
}

/** wandb writes and reads NaN and infinities as bare names, like Python's `json`. */
function jsonOf(value: unknown): string {
  const isNamed = typeof value === 'number' && !Number.isFinite(value);
  return isNamed ? String(value) : (JSON.stringify(value) ?? 'null');
}

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, WireType.LengthDelimited).string(value);
}

function timestamp(writer: BinaryWriter, iso: string): void {
  const ms = Date.parse(iso);
  writer.tag(1, WireType.Varint).int64(Math.floor(ms / 1000));
  writer.tag(2, WireType.Varint).int32((ms % 1000) * 1_000_000);
}

/** The rows among the records of a file, with metrics and times. */
export function readRows(records: readonly Uint8Array[]): Row[] {
  return records.flatMap((each) => {
    let row: Row | undefined;
    eachField(each, (field, reader) => {
      if (field === RECORD.history) row = rowOf(reader.bytes());
      return field === RECORD.history;
    });
    return row === undefined ? [] : [row];
  });
}

function rowOf(history: Uint8Array): Row {
  const values: Record<string, number> = {};
  eachField(history, (field, reader) => {
    if (field !== HISTORY.item) return false;
    let key = '';
    eachField(reader.bytes(), (part, item) => {
      if (part === ITEM.nestedKey) key = item.string();
      else if (part === ITEM.valueJson) values[key] = JSON.parse(item.string()) as number;
      else return false;
      return true;
    });
    return true;
  });
  const { _step, _timestamp: seconds, _runtime, ...metrics } = values;
  return { metrics, at: new Date(Math.round(seconds * 1000)).toISOString() };
}

/** @param read returns whether it has read the field; otherwise it is skipped */
function eachField(bytes: Uint8Array, read: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (!read(field, reader)) reader.skip(wireType);
  }
}
