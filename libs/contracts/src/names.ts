/** Streams, subjects and buckets of the bus. `<run>` is a run id: letters, digits, `-` and `_`. */

export const STREAMS = {
  tasks: 'TASKS',
  rollouts: 'ROLLOUTS',
  trajectories: 'TRAJECTORIES',
  events: 'EVENTS',
  /** Screenshots, and messages larger than the broker accepts, by their run. */
  blobs: 'BLOBS',
  /** Requests and replies larger than the broker accepts. */
  parcels: 'PARCELS',
} as const;

export const BUCKETS = {
  runs: 'runs',
  checkpoints: 'checkpoints',
  /** Files that users shared from their machines, by sha256. */
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
  /**
   * A part of a blob of a run: bytes. Parts count from 0; part 0 is written last, and its header `Uirl-Parts` states
   * their number.
   */
  blob: (run: string, sha256: string, part: number | typeof ANY) => `uirl.blob.${run}.${sha256}.${part}`,
  /** A part of a request or reply, like those of a blob. */
  parcel: (id: string, part: number | typeof ANY) => `uirl.parcel.${id}.${part}`,
  /** Request/reply with any env service of that environment kind; binary (MessagePack). */
  envOpen: (kind: string) => `uirl.env.${kind}.open`,
  /** Request/reply with the env service instance that holds the session. */
  envStep: (instance: string) => `uirl.env.at.${instance}.step`,
  envClose: (instance: string) => `uirl.env.at.${instance}.close`,
  /** Request/reply with the learner that serves a run. */
  policyAct: (run: string) => `uirl.policy.${run}.act`,
  policyInfo: (run: string) => `uirl.policy.${run}.info`,
  /**
   * Request/reply between samplers and that learner: the weights that they should have, and the screenshots of their
   * requests.
   */
  policyWeights: (run: string) => `uirl.policy.${run}.weights`,
  policyImage: (run: string) => `uirl.policy.${run}.image`,
  /** Request/reply with one sampler. */
  samplerSample: (instance: string) => `uirl.sampler.${instance}.sample`,
  samplerCancel: (instance: string) => `uirl.sampler.${instance}.cancel`,
  samplerMove: (instance: string) => `uirl.sampler.${instance}.move`,
  /** Request/reply: every host of a service answers that serves the run, or is about to. */
  serving: (service: string, run: string) => `uirl.serving.${service}.${run}`,
  /**
   * Request/reply with any task-loader, which decides about the run: a host of the service reports that it cannot
   * serve it.
   */
  unserved: (service: string, run: string) => `uirl.unserved.${service}.${run}`,
  /** Request/reply: every monitor answers with the address of a run's page. */
  monitorPage: () => 'uirl.monitor.page',
} as const;

/** Durable consumers that are inspected externally: an autoscaler of actors reads the pending work. */
export const consumers = {
  /** Shared by all actors of a run; created by the first one. */
  actors: (run: string) => `actors-${run}`,
} as const;

/** Keys of the `runs` bucket; each has one writer at a time. */
export const runKeys = {
  /** The validated run file (`RunRecord`). Written once by the process that starts the run. */
  record: (run: string) => `${run}.record`,
  /**
   * `RunState`: the phase. Written by the service that ends it; `failed` by a task-loader if no host can serve the
   * run, or by the learner if it cannot be trained.
   */
  state: (run: string) => `${run}.state`,
  /** `PolicyState`: version, digest, demand for groups. Written by the learner. */
  policy: (run: string) => `${run}.policy`,
  /** `RunLease`: the learner that trains and serves the run. Written by that learner and by its successor. */
  lease: (run: string) => `${run}.lease`,
  /**
   * `LoaderState`: the progress of the task-loader, and the measurements of its curriculum. Written by the
   * task-loader.
   */
  loader: (run: string) => `${run}.loader`,
  /** `EvaluatorState`: open evaluations. Written by the evaluator. */
  evaluator: (run: string) => `${run}.evaluator`,
  /** `RunPause`: whether actors start episodes. Written by the monitor, and by users. */
  pause: (run: string) => `${run}.pause`,
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

/** Run id of a subject; null if it names none. */
export function runOfSubject(subject: string): string | null {
  const [root, kind, run] = subject.split('.');
  if (root !== 'uirl' || !KINDS_OF_RUNS.includes(kind) || run === undefined) return null;
  return isRunId(run) ? run : null;
}

/** Identifies a checkpoint: the weights of a run after a number of steps. */
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

/** Run and step of a checkpoint's address; undefined for an invalid address. */
export function parseCheckpointName(name: string): CheckpointId | undefined {
  const [, runId, step] = /^uirl:\/\/([^/]+)\/sampler_weights\/(\d{6,15})$/.exec(name) ?? [];
  return runId === undefined || !isRunId(runId) ? undefined : { runId, step: Number(step) };
}

/** A file that a user shared, identified by its content. */
export interface SharedFileId {
  kind: 'file' | 'folder';
  /** Hex digest of the file, or of the folder's manifest. */
  sha256: string;
  /** Its original name, for programs that depend on file extensions. */
  name: string;
}

/** Address of a shared file or folder: `uirl://file/<sha256>/tasks.jsonl`, `uirl://folder/<sha256>/adapter`. */
export function sharedFileName({ kind, sha256, name }: SharedFileId): string {
  return `uirl://${kind}/${sha256}/${name}`;
}

/** The shared file or folder behind an address; undefined for an invalid address. */
export function parseSharedFileName(address: string): SharedFileId | undefined {
  const [, kind, sha256, name] =
    /^uirl:\/\/(file|folder)\/([0-9a-f]{64})\/([A-Za-z0-9_][A-Za-z0-9_.+@-]{0,127})$/.exec(address) ?? [];
  return kind === undefined ? undefined : { kind: kind as SharedFileId['kind'], sha256, name };
}
