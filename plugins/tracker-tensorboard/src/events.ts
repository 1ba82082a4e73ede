import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/**
 * Field numbers of `tensorflow.Event` and its messages (`tensorflow/core/util/event.proto`,
 * `framework/summary.proto`).
 */
const EVENT = {
  wallTime: 1,
  step: 2,
  fileVersion: 3,
  summary: 5,
  sessionLog: 7,
  sourceMetadata: 10,
} as const;
const SUMMARY = { value: 1 } as const;
const VALUE = { tag: 1, simpleValue: 2 } as const;
const SESSION_LOG = { status: 1, start: 1 } as const;
const SOURCE_METADATA = { writer: 1 } as const;

export interface Scalars {
  step: number;
  /** ISO 8601. */
  at: string;
  metrics: Readonly<Record<string, number>>;
}

/** The first event of a file. */
export function versionEvent(at: string): Uint8Array {
  return event(at, 0, (writer) => {
    writer.tag(EVENT.fileVersion, WireType.LengthDelimited).string('brain.Event:2');
    writer.tag(EVENT.sourceMetadata, WireType.LengthDelimited).fork();
    writer.tag(SOURCE_METADATA.writer, WireType.LengthDelimited).string('ui-rl').join();
  });
}

/** Marks that a process resumes at a step: readers discard this and later steps. */
export function restartEvent(at: string, step: number): Uint8Array {
  return event(at, step, (writer) => {
    writer.tag(EVENT.sessionLog, WireType.LengthDelimited).fork();
    writer.tag(SESSION_LOG.status, WireType.Varint).int32(SESSION_LOG.start).join();
  });
}

/** Values are stored as 32-bit floats. */
export function scalarEvent({ step, at, metrics }: Scalars): Uint8Array {
  return event(at, step, (writer) => {
    writer.tag(EVENT.summary, WireType.LengthDelimited).fork();
    for (const [name, value] of Object.entries(metrics)) {
      writer.tag(SUMMARY.value, WireType.LengthDelimited).fork();
      writer.tag(VALUE.tag, WireType.LengthDelimited).string(name);
      writer.tag(VALUE.simpleValue, WireType.Bit32).float(value).join();
    }
    writer.join();
  });
}

function event(at: string, step: number, write: (writer: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(EVENT.wallTime, WireType.Bit64).double(Date.parse(at) / 1000);
  if (step !== 0) writer.tag(EVENT.step, WireType.Varint).int64(step);
  write(writer);
  return writer.finish();
}

/** The fields of an event that resuming needs. */
export interface EventHead {
  step: number;
  /** Names of its scalars. */
  tags: string[];
}

export function readEvent(data: Uint8Array): EventHead {
  const head: EventHead = { step: 0, tags: [] };
  eachField(new BinaryReader(data), (field, reader) => {
    if (field === EVENT.step) head.step = Number(reader.int64());
    else if (field === EVENT.summary) head.tags = tagsOf(reader.bytes());
    else return false;
    return true;
  });
  return head;
}

function tagsOf(summary: Uint8Array): string[] {
  const tags: string[] = [];
  eachField(new BinaryReader(summary), (_field, values) => {
    eachField(new BinaryReader(values.bytes()), (field, value) => {
      if (field === VALUE.tag) tags.push(value.string());
      return field === VALUE.tag;
    });
    return true;
  });
  return tags;
}

/** @param read returns whether it has read the field; otherwise it is skipped */
function eachField(reader: BinaryReader, read: (field: number, reader: BinaryReader) => boolean): void {
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (!read(field, reader)) reader.skip(wireType);
  }
}
