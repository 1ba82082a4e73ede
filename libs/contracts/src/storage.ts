import { ANY, BUCKETS, STREAMS, subjects } from './names';

/** Data at the broker: its owner, its limits, and its lifetime. */
interface Kept {
  owner: string;
  /** limit besides disk space, if numbers do not express it */
  limit?: string;
  /** behaviour when the limit or the disk is reached */
  whenFull: string;
  deleted: string;
}

export interface KeptStream extends Kept {
  name: string;
  subjects: string[];
  /**
   * `queue`: a message is kept until it is acknowledged; `log`: until it is deleted; `latest`: the last one of a
   * subject.
   */
  kind: 'queue' | 'log' | 'latest';
  /** Whether a full stream rejects new messages or drops the oldest. */
  full: 'refuse' | 'drop';
  maxBytes?: number;
  /** Maximum number of messages per subject; in a queue, a subject is one run. */
  maxPerSubject?: number;
  maxAgeMs?: number;
}

export interface KeptBucket extends Kept {
  name: string;
  kind: 'key-value' | 'object store';
  maxBytes?: number;
  maxAgeMs?: number;
}

const MEBIBYTE = 2 ** 20;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const WAITS = 'refuses what is new: publishing waits and says so';
const WITH_RUN = 'with its run';
const AS_ROOM_IS_NEEDED =
  'with its run; once three quarters are used, the oldest that every consumer has acknowledged, of runs that have ended first';

/**
 * Streams. Messages that an open run or its monitor still needs are neither dropped nor expire, however long its
 * services pause; messages beyond a limit are rejected, so that a run cannot lose data because of another run.
 */
export const STREAM_STORAGE: readonly KeptStream[] = [
  {
    name: STREAMS.tasks,
    subjects: [subjects.task(ANY)],
    kind: 'queue',
    full: 'refuse',
    maxBytes: 64 * MEBIBYTE,
    maxPerSubject: 10_000,
    owner: 'the run',
    whenFull: WAITS,
    deleted: 'when its rollout is queued; what a run leaves when it ends becomes dead letters; with its run',
  },
  {
    name: STREAMS.rollouts,
    subjects: [subjects.rollout(ANY, ANY)],
    kind: 'queue',
    full: 'refuse',
    maxBytes: 256 * MEBIBYTE,
    maxPerSubject: 50_000,
    owner: 'the run',
    whenFull: WAITS,
    deleted: 'when its trajectory is stored; what a run leaves when it ends; with its run',
  },
  {
    name: STREAMS.trajectories,
    subjects: [subjects.trajectory(ANY, ANY)],
    kind: 'log',
    full: 'refuse',
    maxBytes: 2048 * MEBIBYTE,
    owner: 'the run',
    whenFull: WAITS,
    deleted: AS_ROOM_IS_NEEDED,
  },
  {
    name: STREAMS.events,
    subjects: [subjects.event(ANY, ANY)],
    kind: 'log',
    full: 'refuse',
    maxBytes: 256 * MEBIBYTE,
    owner: 'the run',
    whenFull: WAITS,
    deleted: AS_ROOM_IS_NEEDED,
  },
  {
    name: STREAMS.blobs,
    subjects: [subjects.blob(ANY, ANY, ANY)],
    kind: 'latest',
    full: 'refuse',
    maxPerSubject: 1,
    owner: 'the run; a screenshot that two runs saw is stored for each',
    whenFull: WAITS,
    deleted: WITH_RUN,
  },
  {
    name: STREAMS.parcels,
    subjects: [subjects.parcel(ANY, ANY)],
    kind: 'log',
    full: 'drop',
    maxBytes: 256 * MEBIBYTE,
    maxAgeMs: 10 * MINUTE_MS,
    owner: 'the request it belongs to',
    whenFull: 'drops the oldest: the request is sent again',
    deleted: 'by its age',
  },
];

export const BUCKET_STORAGE: Readonly<Record<keyof typeof BUCKETS, KeptBucket>> = {
  runs: {
    name: BUCKETS.runs,
    kind: 'key-value',
    owner: 'the run',
    limit: 'a few keys per run',
    whenFull: 'writing waits and says so',
    deleted: WITH_RUN,
  },
  checkpoints: {
    name: BUCKETS.checkpoints,
    kind: 'object store',
    owner: 'the run',
    limit: 'per run: the newest, and those that `training.save_every` keeps',
    whenFull: 'the upload waits and says so',
    deleted: 'pruned by the learner; with its run',
  },
  files: {
    name: BUCKETS.files,
    kind: 'object store',
    owner: 'the user who uploaded it: several runs may use it',
    whenFull: 'the upload waits and says so',
    deleted: 'by hand: `nats object rm files <sha256>`',
  },
  deadLetters: {
    name: BUCKETS.deadLetters,
    kind: 'key-value',
    owner: 'the operator',
    maxBytes: 64 * MEBIBYTE,
    maxAgeMs: 30 * DAY_MS,
    whenFull: 'drops the oldest',
    deleted: 'by its age',
  },
};
