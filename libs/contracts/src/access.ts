import { ANY, PURPOSES, runKeys, STREAMS, subjects, type Purpose } from './names';

/** The clients of a broker: the services, command-line users, and the operator, who has full access. */
export const ROLES = [
  'learner',
  'sampler',
  'task-loader',
  'evaluator',
  'monitor',
  'actor',
  'env',
  'trainer',
  'publisher',
] as const;
export type Role = (typeof ROLES)[number];

/** The permissions of a role at the broker; everything else is denied. */
export interface Access {
  /** Description of the role for readers of the list. */
  readonly is: string;
  /** Stream subjects that it publishes to. */
  readonly publishes: readonly string[];
  /** Subjects of streams that it consumes. */
  readonly consumes: readonly { stream: string; subject: string }[];
  /** Subjects of streams whose messages it reads by subject. */
  readonly looksUp: readonly string[];
  /** Streams whose messages it reads one by one without consuming them. */
  readonly looksThrough: readonly string[];
  /** Streams whose consumers it lists, to show the work that waits. */
  readonly lists: readonly string[];
  /** Streams that it maintains: it deletes messages and consumers. */
  readonly tidies: readonly string[];
  /** Requests that it answers. */
  readonly answers: readonly string[];
  /** Requests that it sends. */
  readonly asks: readonly string[];
  /** Keys of the `runs` bucket. */
  readonly readsKeys: readonly string[];
  readonly writesKeys: readonly string[];
  /** Object stores. Write access includes read access. */
  readonly reads: readonly StoreName[];
  readonly writes: readonly StoreName[];
  /** Access to messages that could not be handled. */
  readonly deadLetters: 'none' | 'writes' | 'reads';
}

export type StoreName = 'checkpoints' | 'files';

/** Screenshots, and messages larger than the broker accepts. */
const BLOBS = subjects.blob(ANY, ANY, ANY);
/** Requests and replies larger than the broker accepts. */
const PARCELS = subjects.parcel(ANY, ANY);

const keys = (...names: (keyof typeof runKeys)[]): string[] => names.map((name) => runKeys[name](ANY));
const events = (...types: string[]): string[] => types.map((type) => subjects.event(ANY, type));
const rollouts = (...purposes: Purpose[]): string[] =>
  purposes.map((purpose) => subjects.rollout(ANY, purpose));
/** Services whose hosts say which runs they serve. */
export const SERVED_BY = [
  'learner',
  'sampler',
  'task-loader',
  'evaluator',
  'actor',
  'env',
] as const satisfies Role[];
/** Subjects of the requests that ask which hosts of these roles serve a run. */
const servingOf = (...roles: Role[]): string[] => roles.map((role) => subjects.serving(role, ANY));
const unservedBy = (...roles: Role[]): string[] => roles.map((role) => subjects.unserved(role, ANY));
const consuming = (stream: string, ...names: string[]): Access['consumes'] =>
  names.map((subject) => ({ stream, subject }));

/** Permissions of every service: it follows the runs, reads their run files, and publishes its state. */
const SERVICE: Omit<Access, 'is'> = {
  publishes: events('service_ready', 'warning', 'dead_letter'),
  consumes: [],
  looksUp: [BLOBS],
  looksThrough: [],
  lists: [],
  tidies: [],
  answers: [],
  asks: [],
  readsKeys: keys('record', 'state'),
  writesKeys: [],
  reads: ['files'],
  writes: [],
  deadLetters: 'writes',
};
const PERSON: Omit<Access, 'is'> = {
  ...SERVICE,
  publishes: [],
  looksUp: [],
  readsKeys: [],
  reads: [],
  deadLetters: 'none',
};

/** The permissions of each role: the source of the configuration in `deploy/nats`. */
export const ACCESS: Readonly<Record<Role, Access>> = {
  learner: {
    ...SERVICE,
    is: 'answers with the policy and trains it',
    publishes: [
      ...SERVICE.publishes,
      ...rollouts('train'),
      ...events('phase', 'train_step', 'trained_tokens', 'checkpoint'),
      ...[BLOBS, PARCELS],
    ],
    looksUp: [BLOBS, PARCELS],
    consumes: [
      ...consuming(STREAMS.trajectories, subjects.trajectory(ANY, 'train')),
      ...consuming(STREAMS.events, subjects.event(ANY, 'evaluation')),
    ],
    looksThrough: [STREAMS.rollouts],
    answers: [
      subjects.policyAct(ANY),
      subjects.policyInfo(ANY),
      subjects.policyWeights(ANY),
      subjects.policyImage(ANY),
      ...servingOf('learner'),
    ],
    asks: [
      ...unservedBy('learner'),
      subjects.samplerSample(ANY),
      subjects.samplerCancel(ANY),
      subjects.samplerMove(ANY),
    ],
    readsKeys: keys('record', 'state', 'policy', 'lease', 'loader'),
    writesKeys: keys('record', 'state', 'policy', 'lease'),
    reads: ['files'],
    writes: ['checkpoints'],
  },
  sampler: {
    ...SERVICE,
    is: 'samples the policy for the learner, with adapters that it fetches from the object store',
    publishes: [...SERVICE.publishes, PARCELS],
    looksUp: [BLOBS, PARCELS],
    answers: [
      subjects.samplerSample(ANY),
      subjects.samplerCancel(ANY),
      subjects.samplerMove(ANY),
      ...servingOf('sampler'),
    ],
    asks: [...unservedBy('sampler'), subjects.policyWeights(ANY), subjects.policyImage(ANY)],
    reads: ['files', 'checkpoints'],
  },
  'task-loader': {
    ...SERVICE,
    is: 'asks for episodes, for the tasks of a run and for those that people publish; decides on runs that a host cannot serve',
    publishes: [...SERVICE.publishes, ...rollouts('train', 'eval'), ...events('phase'), BLOBS],
    looksUp: [BLOBS, ...events('phase')],
    consumes: [
      ...consuming(STREAMS.tasks, subjects.task(ANY)),
      ...consuming(STREAMS.events, subjects.event(ANY, 'train_step')),
    ],
    tidies: [STREAMS.tasks, STREAMS.rollouts, STREAMS.trajectories, STREAMS.events],
    answers: [...servingOf('task-loader'), ...unservedBy(...SERVED_BY)],
    asks: [...servingOf(...SERVED_BY), ...unservedBy('task-loader')],
    readsKeys: keys('record', 'state', 'policy', 'loader'),
    writesKeys: keys('record', 'state', 'loader'),
  },
  evaluator: {
    ...SERVICE,
    is: 'asks for the episodes of evaluations and counts them',
    publishes: [
      ...SERVICE.publishes,
      ...rollouts('eval', 'baseline'),
      ...events('phase', 'evaluation'),
      BLOBS,
    ],
    consumes: [
      ...consuming(STREAMS.trajectories, ...otherThan('train')),
      ...consuming(STREAMS.events, subjects.event(ANY, 'checkpoint')),
    ],
    looksThrough: [STREAMS.rollouts],
    answers: servingOf('evaluator'),
    asks: unservedBy('evaluator'),
    readsKeys: keys('record', 'state', 'policy', 'evaluator'),
    writesKeys: keys('record', 'state', 'evaluator'),
  },
  monitor: {
    ...SERVICE,
    is: 'records what is published, and shows it; pauses, continues and stops runs for its readers',
    publishes: [...SERVICE.publishes, ...events('phase', 'pause')],
    consumes: [
      ...consuming(STREAMS.trajectories, subjects.trajectory(ANY, ANY)),
      ...consuming(STREAMS.events, subjects.event(ANY, ANY)),
    ],
    lists: [STREAMS.tasks, STREAMS.rollouts, STREAMS.trajectories, STREAMS.events],
    answers: [subjects.monitorPage()],
    asks: servingOf(...SERVED_BY),
    readsKeys: keys('record', 'state', 'pause'),
    writesKeys: keys('state', 'pause'),
    deadLetters: 'reads',
  },
  actor: {
    ...SERVICE,
    is: 'plays episodes',
    publishes: [
      ...SERVICE.publishes,
      ...events('rollout_started', 'rollout_progress'),
      ...PURPOSES.map((purpose) => subjects.trajectory(ANY, purpose)),
      ...[BLOBS, PARCELS],
    ],
    looksUp: [BLOBS, PARCELS],
    consumes: consuming(STREAMS.rollouts, subjects.rollout(ANY, ANY)),
    answers: servingOf('actor'),
    asks: [
      ...unservedBy('actor'),
      subjects.envOpen(ANY),
      subjects.envStep(ANY),
      subjects.envClose(ANY),
      subjects.policyAct(ANY),
      subjects.policyInfo(ANY),
    ],
    readsKeys: keys('record', 'state', 'pause'),
  },
  env: {
    ...SERVICE,
    is: 'holds sessions of environments',
    publishes: [...SERVICE.publishes, PARCELS],
    looksUp: [PARCELS],
    answers: [subjects.envOpen(ANY), subjects.envStep(ANY), subjects.envClose(ANY), ...servingOf('env')],
    asks: unservedBy('env'),
  },
  trainer: {
    ...PERSON,
    is: 'announces and follows runs, publishes tasks, loads and evaluates checkpoints: ui-rl train, eval, tasks, generate, score, export',
    publishes: [
      subjects.task(ANY),
      subjects.trajectory(ANY, 'eval'),
      ...events('run_created', 'phase', 'pause', 'evaluation'),
      BLOBS,
    ],
    looksUp: [BLOBS],
    consumes: [
      ...consuming(STREAMS.trajectories, subjects.trajectory(ANY, ANY)),
      ...consuming(STREAMS.events, subjects.event(ANY, ANY)),
    ],
    asks: [subjects.monitorPage()],
    readsKeys: keys('record', 'state', 'policy', 'pause'),
    writesKeys: keys('record', 'state', 'pause'),
    reads: ['checkpoints'],
    writes: ['files'],
  },
  publisher: {
    ...PERSON,
    is: 'puts tasks into the queue of a run with the nats command, and sees nothing',
    publishes: [subjects.task(ANY)],
  },
};

/**
 * Whether a process may write a key of the `runs` bucket. A process that is not a service belongs to a user, who may.
 */
export function mayWriteKey(service: string, key: string): boolean {
  const role = ROLES.find((each) => each === service);
  return role === undefined || ACCESS[role].writesKeys.includes(key);
}

function otherThan(left: Purpose): string[] {
  return PURPOSES.filter((purpose) => purpose !== left).map((purpose) => subjects.trajectory(ANY, purpose));
}
