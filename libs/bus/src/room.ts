import type { ConsumerInfo } from '@nats-io/jetstream';
import { runOfSubject, STREAM_STORAGE, subjects, type RunState } from '@ui-rl/contracts';
import type { Broker } from './broker';
import { consumersOf, countBySubject, runOfConsumer } from './run-messages';
import { FINAL_PHASES } from './runs';

/** Share of a stream's limit that triggers a purge, and the share that remains after it. */
const FULL = 0.75;
const ENOUGH = 0.5;
/**
 * Steps of an open run that are kept: a restarted task-loader resumes from the steps that it has not recorded. It is
 * never further behind, because training waits for it.
 */
const NEWEST_STEPS = 100;

/**
 * Purges the oldest messages of a log that is filling up: those that every consumer has acknowledged, ended runs
 * first. Keeps messages that a consumer still has to read, messages of an open run that have no consumer yet, and the
 * newest steps of an open run.
 */
export async function makeRoom(
  broker: Broker,
  stream: string,
  states: ReadonlyMap<string, RunState>,
): Promise<void> {
  const { state, config } = await broker.jsm.streams.info(stream);
  const bound = config.max_bytes > 0 ? config.max_bytes : boundOf(stream);
  if (state.bytes < FULL * bound) return;
  // Consumers are inspected after the end of the stream is read: if nothing up to there is pending for them, it is
  // acknowledged.
  const consumers = await consumersOf(broker, stream);
  const found = [...(await countBySubject(broker, stream, '>')).keys()];
  for (const subject of inOrder(found, states)) {
    const end = endOfRead(subject, consumers, state.last_seq, states);
    if (end <= 1) continue;
    const keepsSteps = end > state.last_seq && isOfSteps(subject) && !isOver(subject, states);
    const drop = keepsSteps ? { keep: NEWEST_STEPS } : { seq: end };
    await broker.jsm.streams.purge(stream, { filter: subject, ...drop });
    const { bytes } = (await broker.jsm.streams.info(stream)).state;
    if (bytes < ENOUGH * bound) return;
  }
  const { bytes } = (await broker.jsm.streams.info(stream)).state;
  if (bytes >= FULL * bound) broker.logger.warn(stillFull(stream, bytes / bound, consumers));
}

function boundOf(stream: string): number {
  return STREAM_STORAGE.find(({ name }) => name === stream)?.maxBytes ?? Infinity;
}

function inOrder(found: readonly string[], states: ReadonlyMap<string, RunState>): string[] {
  const rank = (subject: string): string => {
    const state = states.get(runOfSubject(subject) ?? '');
    if (state === undefined) return '1';
    return FINAL_PHASES.includes(state.phase) ? `0 ${state.since}` : '2';
  };
  return found.toSorted((a, b) => rank(a).localeCompare(rank(b)));
}

/** Sequence number of the first message of a subject that a consumer may still have to read. */
function endOfRead(
  subject: string,
  consumers: readonly ConsumerInfo[],
  lastSequence: number,
  states: ReadonlyMap<string, RunState>,
): number {
  const readers = consumers.filter(({ config }) => covers(config.filter_subject ?? '>', subject));
  const runId = runOfSubject(subject) ?? '';
  const isRead = readers.some((reader) => runOfConsumer(reader) === runId && !isTemporary(reader));
  if (!isOver(subject, states) && isNeeded(subject, runId) && !isRead) return 0;
  const ends = readers.map(({ num_pending: waiting, num_ack_pending: unacknowledged, ack_floor: floor }) =>
    waiting === 0 && unacknowledged === 0 ? lastSequence + 1 : floor.stream_seq + 1,
  );
  return Math.min(lastSequence + 1, ...ends);
}

/** Whether a subject belongs to an ended run. */
function isOver(subject: string, states: ReadonlyMap<string, RunState>): boolean {
  const phase = states.get(runOfSubject(subject) ?? '')?.phase;
  return phase !== undefined && FINAL_PHASES.includes(phase);
}

function isOfSteps(subject: string): boolean {
  return subject === subjects.event(runOfSubject(subject) ?? '', 'train_step');
}

/** Whether a service resumes from these messages, even before it has a consumer for them. */
function isNeeded(subject: string, runId: string): boolean {
  if (subject.startsWith(subjects.event(runId, ''))) {
    return [subjects.event(runId, 'checkpoint'), subjects.event(runId, 'evaluation')].includes(subject);
  }
  return true;
}

function isTemporary({ config }: ConsumerInfo): boolean {
  return (config.inactive_threshold ?? 0) > 0;
}

/** Whether a filter matches a subject. */
function covers(filter: string, subject: string): boolean {
  const [wanted, found] = [filter.split('.'), subject.split('.')];
  const fits = wanted.every((token, at) => token === '>' || token === '*' || token === found[at]);
  return fits && (wanted.at(-1) === '>' || wanted.length === found.length);
}

function stillFull(stream: string, share: number, consumers: readonly ConsumerInfo[]): string {
  const behind = consumers
    .map(({ name, num_pending: waiting, num_ack_pending: unacknowledged }) => ({
      name,
      left: waiting + unacknowledged,
    }))
    .filter(({ left }) => left > 0)
    .map(({ name, left }) => `${name} (${left})`);
  return (
    `${stream} is ${Math.round(100 * share)} % full and holds unread messages of ${behind.join(', ') || 'consumers that are not started'}. ` +
    `Start their readers, raise the bound (nats stream edit ${stream} --max-bytes), delete ended runs (ui-rl runs delete), or give up ` +
    `what a monitor has not recorded (nats consumer rm ${stream} monitor-${stream.toLowerCase()})`
  );
}
