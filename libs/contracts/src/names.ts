/** Streams, subjects and buckets: the words of the bus. `<run>` is a run id, letters, digits, `-` and `_`. */

export const STREAMS = {
  tasks: 'TASKS',
  rollouts: 'ROLLOUTS',
  trajectories: 'TRAJECTORIES',
  events: 'EVENTS',
  /** Screenshots, and messages that are larger than the broker takes, by the run they belong to. */
  blobs: 'BLOBS',
  /** Requests and replies that are larger than the broker takes. */
  parcels: 'PARCELS',
} as const;

export const BUCKETS = {
  runs: 'runs',
  checkpoints: 'checkpoints',
  /** What people named on their machines, by sha256. */
  files: 'files',
  deadLetters: 'dead_letters',
} as const;

export const PURPOSES = ['train', 'eval', 'baseline'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Token for the wildcard position of a subject. */
export const ANY = '*';

export const subjects = {
  task: (run: string) => `uirl.task.${run}`,
  rollout: (run: string, purpose: Purpose | typeof ANY) => `uirl.rollout.${run}.${purpose}`,
  trajectory: (run: string, purpose: Purpose | typeof ANY) => `uirl.trajectory.${run}.${purpose}`,
  event: (run: string, type: string) => `uirl.event.${run}.${type}`,
  /** A part of a blob of a run: bytes. Parts count from 0; that one is written last, and its header `Uirl-Parts` says how many there are. */
  blob: (run: string, sha256: string, part: number | typeof ANY) => `uirl.blob.${run}.${sha256}.${part}`,
  /** A part of a request or reply, as those of a blob. */
  parcel: (id: string, part: number | typeof ANY) => `uirl.parcel.${id}.${part}`,
  /** Request/reply, any env service of that environment kind answers; binary (MessagePack). */
  envOpen: (kind: string) => `uirl.env.${kind}.open`,
  /** Request/reply with the one env service instance that holds the session. */
  envStep: (instance: string) => `uirl.env.at.${instance}.step`,
  envClose: (instance: string) => `uirl.env.at.${instance}.close`,
  /** Request/reply with the learner that serves a run. */
  policyAct: (run: string) => `uirl.policy.${run}.act`,
  policyInfo: (run: string) => `uirl.policy.${run}.info`,
  /** Request/reply with that learner, for samplers: which weights they are to have, and the screenshots of what they are asked. */
  policyWeights: (run: string) => `uirl.policy.${run}.weights`,
  policyImage: (run: string) => `uirl.policy.${run}.image`,
  /** Request/reply with one sampler. */
  samplerSample: (instance: string) => `uirl.sampler.${instance}.sample`,
  samplerCancel: (instance: string) => `uirl.sampler.${instance}.cancel`,
  samplerMove: (instance: string) => `uirl.sampler.${instance}.move`,
  /** Request/reply, every host of a service answers that serves the run, or is going to. */
  serving: (service: string, run: string) => `uirl.serving.${service}.${run}`,
  /** Request/reply with any task-loader, which decides what becomes of a run: a host of the service says that it cannot serve it. */
  unserved: (service: string, run: string) => `uirl.unserved.${service}.${run}`,
  /** Request/reply, every monitor answers: where it shows a run. */
  monitorPage: () => 'uirl.monitor.page',
} as const;

/** Durable consumers that others look at from outside: what scales actors asks how much theirs has to do. */
export const consumers = {
  /** All actors of a run share it; the first one to play the run makes it. */
  actors: (run: string) => `actors-${run}`,
} as const;

/** Keys of the `runs` bucket; each has one writer at a time. */
export const runKeys = {
  /** The validated run file (`RunRecord`). Written once by whoever starts the run. */
  record: (run: string) => `${run}.record`,
  /** `RunState`: the phase. Written by the service that ends it; `failed` by a task-loader, where nobody can serve the run, or by the learner, where it cannot be trained. */
  state: (run: string) => `${run}.state`,
  /** `PolicyState`: version, digest, demand for groups. Written by the learner. */
  policy: (run: string) => `${run}.policy`,
  /** `RunLease`: which learner it is that trains and serves. Written by that one, and by the one that takes over. */
  lease: (run: string) => `${run}.lease`,
  /** `LoaderState`: how far the task-loader has come, and what its curriculum has measured. Written by the task-loader. */
  loader: (run: string) => `${run}.loader`,
  /** `EvaluatorState`: open evaluations. Written by the evaluator. */
  evaluator: (run: string) => `${run}.evaluator`,
} as const;

/** Run id of a key of the `runs` bucket. */
export function runOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('.'));
}

export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,95}$/;

export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

/** Kinds of subjects that name a run: `uirl.<kind>.<run>…`. */
const KINDS_OF_RUNS = ['task', 'rollout', 'trajectory', 'event', 'blob', 'policy'];

/** Run id of a subject, or null where it names none. */
export function runOfSubject(subject: string): string | null {
  const [root, kind, run] = subject.split('.');
  if (root !== 'uirl' || !KINDS_OF_RUNS.includes(kind) || run === undefined) return null;
  return isRunId(run) ? run : null;
}

/** Which checkpoint: the weights of a run after so many steps. */
export interface CheckpointId {
  runId: string;
  step: number;
}

/** Folder of a step's checkpoint: `000080`. */
export function stepFolder(step: number): string {
  return String(step).padStart(6, '0');
}

/** Address of a checkpoint: `uirl://<run>/sampler_weights/000080`. */
export function checkpointName({ runId, step }: CheckpointId): string {
  return `uirl://${runId}/sampler_weights/${stepFolder(step)}`;
}

/** Run and step of a checkpoint's address; undefined where it is none. */
export function parseCheckpointName(name: string): CheckpointId | undefined {
  const [, runId, step] = /^uirl:\/\/([^/]+)\/sampler_weights\/(\d{6,15})$/.exec(name) ?? [];
  return runId === undefined || !isRunId(runId) ? undefined : { runId, step: Number(step) };
}

/** What somebody shared from their own machine, by its content. */
export interface SharedFileId {
  kind: 'file' | 'folder';
  /** Of the file, or of the folder's manifest. Hex. */
  sha256: string;
  /** What it was called, so that programs that look at endings find theirs. */
  name: string;
}

/** Address of a shared file or folder: `uirl://file/<sha256>/tasks.jsonl`, `uirl://folder/<sha256>/adapter`. */
export function sharedFileName({ kind, sha256, name }: SharedFileId): string {
  return `uirl://${kind}/${sha256}/${name}`;
}

/** What the address of a shared file or folder names; undefined where it is none. */
export function parseSharedFileName(address: string): SharedFileId | undefined {
  const [, kind, sha256, name] =
    /^uirl:\/\/(file|folder)\/([0-9a-f]{64})\/([A-Za-z0-9_][A-Za-z0-9_.+@-]{0,127})$/.exec(address) ?? [];
  return kind === undefined ? undefined : { kind: kind as SharedFileId['kind'], sha256, name };
}
