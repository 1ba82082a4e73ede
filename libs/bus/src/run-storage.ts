import type { JsMsg } from '@nats-io/jetstream';
import { ANY, isRunId, runKeys, runOfKey, runOfSubject, STREAMS } from '@ui-rl/contracts';
import type { Broker } from './broker';
import { BusError } from './errors';
import type { CheckpointArchive } from './files';
import type { KvBucket } from './kv';
import { withRetry } from './retry';
import { consumersOf, countBySubject, MESSAGES_OF_RUN, runOfConsumer } from './run-messages';
import { FINAL_PHASES, type RunDirectory } from './runs';
import type { S3Blobs } from './s3';
import { DUPLICATE_WINDOW_MS } from './topology';

export interface MessageUse {
  stream: string;
  messages: number;
  /** Payload bytes, without subjects and headers. */
  bytes: number;
}

export interface ConsumerUse {
  stream: string;
  name: string;
  /** Messages that it has not received or not acknowledged. */
  waiting: number;
  /** Of these, messages that it has received. */
  inProgress: number;
}

/** Storage that a run uses at the broker. */
export interface RunUse {
  runId: string;
  keys: string[];
  messages: MessageUse[];
  consumers: ConsumerUse[];
  checkpoints: { steps: number[]; files: number; bytes: number };
}

/** Streams with durable consumers: those of blobs read once. */
const READ_STREAMS = [STREAMS.tasks, STREAMS.rollouts, STREAMS.trajectories, STREAMS.events];
const READ_AT_ONCE = 500;
const READ_WITHIN_MS = 5_000;
/** Header with the payload size, for messages read without their payload. */
const SIZE = 'Nats-Msg-Size';

/** Measures and frees the storage that runs use at the broker. */
export class RunStorage {
  constructor(
    private readonly broker: Broker,
    private readonly runs: RunDirectory,
    private readonly bucket: KvBucket,
    private readonly checkpoints: CheckpointArchive,
    /** The S3 bucket of blobs; null if they are stored at the broker. */
    private readonly outside: S3Blobs | null,
  ) {}

  /** Ids of all runs that have left anything but screenshots, including runs whose record is gone. */
  async runIds(): Promise<string[]> {
    const ids = new Set((await this.bucket.keys()).map(runOfKey));
    for (const { stream, filterOf } of MESSAGES_OF_RUN) {
      // It may hold a million subjects.
      if (stream === STREAMS.blobs) continue;
      const subjects = await this.run(`list ${stream}`, () =>
        countBySubject(this.broker, stream, filterOf(ANY)),
      );
      for (const subject of subjects.keys()) ids.add(runOfSubject(subject) ?? '');
    }
    return [...ids].filter(isRunId).toSorted();
  }

  async use(runId: string): Promise<RunUse> {
    const messages: MessageUse[] = [];
    for (const { stream, filterOf } of MESSAGES_OF_RUN) {
      const outside = stream === STREAMS.blobs ? this.outside : null;
      messages.push(
        outside === null
          ? await this.useOf(stream, filterOf(runId))
          : { stream, ...(await outside.use(runId)) },
      );
    }
    const files = await this.checkpoints.files(runId);
    return {
      runId,
      keys: await this.bucket.keys(`${runId}.${ANY}`),
      messages,
      consumers: await this.consumersOf(runId),
      checkpoints: {
        steps: await this.checkpoints.steps(runId),
        files: files.length,
        bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      },
    };
  }

  /**
   * Deletes all data of the run at the broker. Deletes the record last, so that an interrupted deletion can be found
   * and repeated. Throws `BusError` `conflict` if the run has not ended.
   */
  async delete(runId: string): Promise<void> {
    const state = await this.runs.state(runId);
    if (state !== null && !FINAL_PHASES.includes(state.phase))
      throw new BusError('conflict', `run ${runId} has not ended (${state.phase}): stop it first`);
    for (const { stream, name } of await this.consumersOf(runId))
      await this.broker.deleteConsumer(stream, name);
    for (const { stream, filterOf } of MESSAGES_OF_RUN) {
      const filter = filterOf(runId);
      await this.run(`delete ${filter}`, () => this.broker.jsm.streams.purge(stream, { filter }));
    }
    await this.outside?.delete(runId);
    await this.checkpoints.deleteAll(runId);
    const last = [runKeys.state(runId), runKeys.record(runId)];
    const keys = await this.bucket.keys(`${runId}.${ANY}`);
    const order = [...keys.filter((key) => !last.includes(key)), ...last.filter((key) => keys.includes(key))];
    for (const key of order) await this.bucket.delete(key);
    await this.bucket.forgetDeleted(24 * DUPLICATE_WINDOW_MS);
  }

  /** The consumers of a run's messages, including those that read the messages of all runs. */
  async readers(runId: string): Promise<ConsumerUse[]> {
    return this.consumersWhere(READ_STREAMS, (run) => run === runId || run === null);
  }

  private consumersOf(runId: string): Promise<ConsumerUse[]> {
    return this.consumersWhere(
      MESSAGES_OF_RUN.map(({ stream }) => stream),
      (run) => run === runId,
    );
  }

  private async consumersWhere(
    streams: readonly string[],
    isWanted: (run: string | null) => boolean,
  ): Promise<ConsumerUse[]> {
    const found: ConsumerUse[] = [];
    for (const stream of streams) {
      const consumers = await this.run(`list consumers of ${stream}`, () => consumersOf(this.broker, stream));
      for (const consumer of consumers.filter((each) => isWanted(runOfConsumer(each)))) {
        const { name, num_pending: pending, num_ack_pending: inProgress } = consumer;
        found.push({ stream, name, waiting: pending + inProgress, inProgress });
      }
    }
    return found;
  }

  private async useOf(stream: string, filter: string): Promise<MessageUse> {
    const counts = await this.run(`list ${filter}`, () => countBySubject(this.broker, stream, filter));
    const messages = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (messages === 0) return { stream, messages: 0, bytes: 0 };
    const isQueue = stream === STREAMS.tasks || stream === STREAMS.rollouts;
    return isQueue ? this.sizeOfQueue(stream, filter) : this.sizeOfLog(stream, filter);
  }

  /** Message by message, because a queue cannot have a second consumer. */
  private async sizeOfQueue(stream: string, filter: string): Promise<MessageUse> {
    let [messages, bytes] = [0, 0];
    for (let seq = 1; ; messages += 1) {
      const query = { seq, next_by_subj: filter };
      const message = await this.run(`read ${filter}`, () =>
        this.broker.jsm.streams.getMessage(stream, query),
      );
      if (message === null) return { stream, messages, bytes };
      bytes += message.data.byteLength;
      seq = message.seq + 1;
    }
  }

  /** Reads headers only, which state the payload size. */
  private async sizeOfLog(stream: string, filter: string): Promise<MessageUse> {
    return this.run(`read ${filter}`, async () => {
      const options = { filter_subjects: filter, headers_only: true };
      const consumer = await this.broker.js.consumers.get(stream, options);
      let [messages, bytes] = [0, 0];
      const count = (message: JsMsg): boolean => {
        messages += 1;
        bytes += Number(message.headers?.get(SIZE) ?? 0);
        return message.info.pending > 0;
      };
      for (let goesOn = true; goesOn;) {
        goesOn = false;
        const some = await consumer.fetch({ max_messages: READ_AT_ONCE, expires: READ_WITHIN_MS });
        for await (const message of some) {
          goesOn = count(message);
          if (!goesOn) break;
        }
      }
      await consumer.delete();
      return { stream, messages, bytes };
    });
  }

  private run<T>(what: string, operation: () => Promise<T>): Promise<T> {
    return withRetry(what, this.broker, operation);
  }
}
