import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Logger } from '@nestjs/common';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import {
  ANY,
  BUCKETS,
  EVENTS,
  PURPOSES,
  ROLES,
  runKeys,
  STREAM_STORAGE,
  STREAMS,
  subjects,
  type Role,
} from '@ui-rl/contracts';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { accountsConfiguration, API_PREFIX, inboxOf } from './accounts';
import { BusService } from './bus';

Logger.overrideLogger(false);

const TEMPLATE = resolve(__dirname, '../../../deploy/nats/accounts.conf');
const RUN = 'run';
const HASH = 'f'.repeat(64);

type User = Role | 'operator';
const USERS: readonly User[] = [...ROLES, 'operator'];
const SERVICES: Role[] = ['learner', 'sampler', 'task-loader', 'evaluator', 'monitor', 'actor', 'env'];

/** Roles that may publish to each stream subject, restated by hand. */
const MAY_PUBLISH: Readonly<Record<string, readonly Role[]>> = {
  [subjects.task(RUN)]: ['trainer', 'publisher'],
  [subjects.rollout(RUN, 'train')]: ['learner', 'task-loader'],
  [subjects.rollout(RUN, 'eval')]: ['task-loader', 'evaluator'],
  [subjects.rollout(RUN, 'baseline')]: ['evaluator'],
  [subjects.trajectory(RUN, 'train')]: ['actor'],
  [subjects.trajectory(RUN, 'eval')]: ['actor', 'trainer'],
  [subjects.trajectory(RUN, 'baseline')]: ['actor'],
  [subjects.event(RUN, 'run_created')]: ['trainer'],
  [subjects.event(RUN, 'phase')]: ['learner', 'task-loader', 'evaluator', 'monitor', 'trainer'],
  [subjects.event(RUN, 'pause')]: ['monitor', 'trainer'],
  [subjects.event(RUN, 'service_ready')]: SERVICES,
  [subjects.event(RUN, 'warning')]: SERVICES,
  [subjects.event(RUN, 'dead_letter')]: SERVICES,
  [subjects.event(RUN, 'rollout_started')]: ['actor'],
  [subjects.event(RUN, 'rollout_progress')]: ['actor'],
  [subjects.event(RUN, 'train_step')]: ['learner'],
  [subjects.event(RUN, 'trained_tokens')]: ['learner'],
  [subjects.event(RUN, 'checkpoint')]: ['learner'],
  [subjects.event(RUN, 'evaluation')]: ['evaluator', 'trainer'],
  [subjects.blob(RUN, HASH, 0)]: ['learner', 'task-loader', 'evaluator', 'actor', 'trainer'],
  [subjects.parcel('id', 0)]: ['learner', 'sampler', 'actor', 'env'],
};

/** Roles that may look up a message by its subject. */
const MAY_LOOK_UP: Readonly<Record<string, readonly Role[]>> = {
  [`${STREAMS.blobs}.${subjects.blob(RUN, HASH, 0)}`]: [
    'learner',
    'sampler',
    'task-loader',
    'evaluator',
    'monitor',
    'actor',
    'trainer',
  ],
  [`${STREAMS.parcels}.${subjects.parcel('id', 0)}`]: ['learner', 'sampler', 'actor', 'env'],
};

/** Roles that may write each key of the `runs` bucket. */
const MAY_WRITE: Readonly<Record<keyof typeof runKeys, readonly Role[]>> = {
  record: ['learner', 'task-loader', 'evaluator', 'trainer'],
  state: ['learner', 'task-loader', 'evaluator', 'monitor', 'trainer'],
  policy: ['learner'],
  lease: ['learner'],
  loader: ['task-loader'],
  evaluator: ['evaluator'],
  pause: ['monitor', 'trainer'],
};

/** Roles that may read each key: services read the run file, the phase and the state that they resume from. */
const MAY_READ_KEY: Readonly<Record<keyof typeof runKeys, readonly Role[]>> = {
  record: [...SERVICES, 'trainer'],
  state: [...SERVICES, 'trainer'],
  policy: ['learner', 'task-loader', 'evaluator', 'trainer'],
  lease: ['learner'],
  loader: ['learner', 'task-loader'],
  evaluator: ['evaluator'],
  pause: ['monitor', 'actor', 'trainer'],
};

const MAY_STORE: Readonly<Record<string, readonly Role[]>> = {
  [`$O.${BUCKETS.checkpoints}.C.x`]: ['learner'],
  [`$O.${BUCKETS.checkpoints}.M.x`]: ['learner'],
  [`$O.${BUCKETS.files}.C.x`]: ['trainer'],
};

const MAY_ASK: Readonly<Record<string, { answers: Role; asks: readonly Role[] }>> = {
  [subjects.envOpen('browser')]: { answers: 'env', asks: ['actor'] },
  [subjects.envStep('one')]: { answers: 'env', asks: ['actor'] },
  [subjects.envClose('one')]: { answers: 'env', asks: ['actor'] },
  [subjects.policyAct(RUN)]: { answers: 'learner', asks: ['actor'] },
  [subjects.policyInfo(RUN)]: { answers: 'learner', asks: ['actor'] },
  [subjects.policyWeights(RUN)]: { answers: 'learner', asks: ['sampler'] },
  [subjects.policyImage(RUN)]: { answers: 'learner', asks: ['sampler'] },
  [subjects.samplerSample('one')]: { answers: 'sampler', asks: ['learner'] },
  [subjects.samplerCancel('one')]: { answers: 'sampler', asks: ['learner'] },
  [subjects.samplerMove('one')]: { answers: 'sampler', asks: ['learner'] },
  [subjects.serving('learner', RUN)]: { answers: 'learner', asks: ['task-loader', 'monitor'] },
  [subjects.serving('sampler', RUN)]: { answers: 'sampler', asks: ['task-loader', 'monitor'] },
  [subjects.serving('task-loader', RUN)]: { answers: 'task-loader', asks: ['monitor'] },
  [subjects.serving('evaluator', RUN)]: { answers: 'evaluator', asks: ['task-loader', 'monitor'] },
  [subjects.serving('actor', RUN)]: { answers: 'actor', asks: ['task-loader', 'monitor'] },
  [subjects.serving('env', RUN)]: { answers: 'env', asks: ['task-loader', 'monitor'] },
  [subjects.unserved('learner', RUN)]: { answers: 'task-loader', asks: ['learner'] },
  [subjects.unserved('sampler', RUN)]: { answers: 'task-loader', asks: ['sampler'] },
  [subjects.unserved('task-loader', RUN)]: { answers: 'task-loader', asks: [] },
  [subjects.unserved('evaluator', RUN)]: { answers: 'task-loader', asks: ['evaluator'] },
  [subjects.unserved('actor', RUN)]: { answers: 'task-loader', asks: ['actor'] },
  [subjects.unserved('env', RUN)]: { answers: 'task-loader', asks: ['env'] },
  [subjects.monitorPage()]: { answers: 'monitor', asks: ['trainer'] },
};

/** Roles that may read a subject through a consumer. */
const MAY_CONSUME: readonly [stream: string, subject: string, roles: readonly Role[]][] = [
  [STREAMS.tasks, subjects.task(RUN), ['task-loader']],
  [STREAMS.rollouts, subjects.rollout(RUN, 'train'), ['actor']],
  [STREAMS.rollouts, subjects.rollout(RUN, 'eval'), ['actor']],
  [STREAMS.rollouts, subjects.rollout(RUN, 'baseline'), ['actor']],
  [STREAMS.trajectories, subjects.trajectory(RUN, 'train'), ['learner', 'monitor', 'trainer']],
  [STREAMS.trajectories, subjects.trajectory(RUN, 'eval'), ['evaluator', 'monitor', 'trainer']],
  [STREAMS.trajectories, subjects.trajectory(RUN, 'baseline'), ['evaluator', 'monitor', 'trainer']],
  [STREAMS.events, subjects.event(RUN, 'evaluation'), ['learner', 'monitor', 'trainer']],
  [STREAMS.events, subjects.event(RUN, 'checkpoint'), ['evaluator', 'monitor', 'trainer']],
  [STREAMS.events, subjects.event(RUN, 'warning'), ['monitor', 'trainer']],
  [`KV_${BUCKETS.deadLetters}`, `$KV.${BUCKETS.deadLetters}.>`, ['monitor']],
];

/** Roles that may read single messages of a stream: those that consume or count them, and housekeeping. */
const MAY_LOOK_THROUGH: Readonly<Record<string, readonly Role[]>> = {
  [STREAMS.tasks]: ['task-loader'],
  [STREAMS.rollouts]: ['learner', 'task-loader', 'evaluator', 'actor'],
  [STREAMS.trajectories]: ['learner', 'task-loader', 'evaluator', 'monitor', 'trainer'],
  [STREAMS.events]: ['learner', 'task-loader', 'evaluator', 'monitor', 'trainer'],
  [STREAMS.blobs]: [],
  [STREAMS.parcels]: [],
  [`KV_${BUCKETS.runs}`]: [],
  [`KV_${BUCKETS.deadLetters}`]: [],
};

let nats: NatsServer;
let operator: BusService;
const as = new Map<User, NatsConnection>();

const contextOf = (user: User) =>
  JSON.parse(readFileSync(nats.contextFile(user), 'utf8')) as Record<string, string>;

beforeAll(async () => {
  nats = await startNats({ accounts: true });
  for (const user of USERS) {
    const { password: pass } = contextOf(user);
    const inboxPrefix = inboxOf(user);
    as.set(user, await connect({ servers: nats.url, user, pass, inboxPrefix, reconnect: false }));
  }
  const { password } = contextOf('operator');
  const prefixes = { inboxPrefix: inboxOf('operator'), apiPrefix: API_PREFIX };
  const own = { user: 'operator', password, servers: [nats.url] };
  operator = await BusService.connect({ service: 'test', ...own, ...prefixes });
});

afterAll(async () => {
  await Promise.all([...as.values()].map((connection) => connection.close()));
  await operator.close();
  await nats.stop();
});

/** Whether a responder receives a request of a user; an error reply counts, too. */
async function isTaken(user: User, subject: string, payload = '{}'): Promise<boolean> {
  try {
    await as.get(user)!.request(subject, payload, { timeout: 2_000 });
    return true;
  } catch (error) {
    if (/no responders/i.test(String(error))) return false;
    throw error;
  }
}

/** The users whose requests reach a responder. */
async function takenFrom(subject: string, payload?: string): Promise<User[]> {
  const taken = await Promise.all(USERS.map((user) => isTaken(user, subject, payload)));
  return USERS.filter((_, index) => taken[index]);
}

const flushed = () => Promise.all([...as.values()].map((connection) => connection.flush()));
const inOrder = (...users: readonly User[]) => USERS.filter((user) => users.includes(user));
const api = (call: string) => `${API_PREFIX}.${call}`;

it('the template is what the list of the contracts says', () => {
  expect(readFileSync(TEMPLATE, 'utf8')).toBe(accountsConfiguration());
});

/** Whether a filter matches one of these subjects. */
function takesOne(filter: string, all: readonly string[]): boolean {
  const pattern = new RegExp(`^${filter.replaceAll('.', String.raw`\.`).replaceAll(ANY, '[^.]+')}$`);
  return all.some((subject) => pattern.test(subject));
}

describe('every subject of the contracts is decided on here', () => {
  const decided = [...Object.keys(MAY_PUBLISH), ...Object.keys(MAY_ASK)];
  const read = [
    ...MAY_CONSUME.map(([, subject]) => subject),
    ...Object.keys(MAY_LOOK_UP).map((place) => place.slice(place.indexOf('.') + 1)),
  ];
  const any = subjects as Readonly<Record<string, (...parts: string[]) => string>>;

  it.each(Object.keys(subjects))('%s', (name) => {
    expect(takesOne(any[name](ANY, ANY, ANY), decided)).toBe(true);
  });

  it.each(PURPOSES)('episodes for %s', (purpose) => {
    const both = [subjects.rollout(RUN, purpose), subjects.trajectory(RUN, purpose)];
    expect(decided).toEqual(expect.arrayContaining(both));
    expect(read).toEqual(expect.arrayContaining(both));
  });

  it.each(STREAM_STORAGE)('readers of $name', ({ subjects: [filter] }) => {
    expect(takesOne(filter, read)).toBe(true);
  });
});

it('every event, key, stream and bucket is decided on here', () => {
  const events = Object.keys(EVENTS.classes).map((type) => subjects.event(RUN, type));
  expect(Object.keys(MAY_PUBLISH)).toEqual(expect.arrayContaining(events));
  expect(Object.keys(MAY_WRITE)).toEqual(Object.keys(runKeys));
  expect(Object.keys(MAY_LOOK_THROUGH)).toEqual(expect.arrayContaining(Object.values(STREAMS)));
});

describe('writing', () => {
  it.each(Object.entries(MAY_PUBLISH))('%s: %j', async (subject, roles) => {
    expect(await takenFrom(subject)).toEqual(inOrder(...roles, 'operator'));
  });

  it.each(Object.entries(MAY_WRITE))('key %s of a run: %j', async (name, roles) => {
    const subject = `$KV.${BUCKETS.runs}.${runKeys[name as keyof typeof runKeys](RUN)}`;
    expect(await takenFrom(api(subject))).toEqual(inOrder(...roles, 'operator'));
    expect(await takenFrom(subject)).toEqual(['operator']);
  });

  it.each(Object.entries(MAY_STORE))('%s: %j', async (subject, roles) => {
    expect(await takenFrom(subject)).toEqual(inOrder(...roles, 'operator'));
  });

  it.each(SERVICES)('dead letters of %s: written by itself and the operator', async (service) => {
    const subject = api(`$KV.${BUCKETS.deadLetters}.${service}.TASKS.1`);
    expect(await takenFrom(subject)).toEqual(inOrder(service, 'operator'));
  });
});

describe('asking', () => {
  it.each(Object.entries(MAY_ASK))('%s: %j', async (subject, { answers, asks }) => {
    const listening = as
      .get(answers)!
      .subscribe(subject, { callback: (_, message) => void message.respond('yes') });
    await as.get(answers)!.flush();
    const others = (await takenFrom(subject)).filter((user) => user !== answers);
    expect(others).toEqual(inOrder(...asks));
    listening.unsubscribe();
  });

  it('a requester hears that nothing listens', async () => {
    const asked = as
      .get('task-loader')!
      .request(subjects.serving('actor', 'not-running'), '', { timeout: 5_000 });
    await expect(asked).rejects.toThrow(/no responders/i);
  });

  it('an answer goes to the requester alone, once', async () => {
    const [env, actor] = [as.get('env')!, as.get('actor')!];
    const inbox = `${inboxOf('actor')}.of-the-learner`;
    const heard: string[] = [];
    const forged = actor.subscribe(inbox, { callback: (_, message) => void heard.push(message.string()) });
    const listening = env.subscribe(subjects.envStep('two'), {
      callback: (_, message) => {
        env.publish(inbox, 'forged');
        message.respond('yes');
        message.respond('and no');
      },
    });
    await flushed();
    expect((await actor.request(subjects.envStep('two'), '', { timeout: 5_000 })).string()).toBe('yes');
    await flushed();
    expect(heard).toEqual([]);
    for (const each of [forged, listening]) each.unsubscribe();
  });

  it('no service hears the requests to another one', async () => {
    const subject = subjects.policyAct('of-the-learner');
    const heard: User[] = [];
    const listening = USERS.map((user) =>
      as.get(user)!.subscribe(subject, {
        callback: (_, message) => {
          heard.push(user);
          if (user === 'learner') message.respond('yes');
        },
      }),
    );
    await flushed();
    expect(await isTaken('actor', subject)).toBe(true);
    // The actor receives its own message.
    expect(new Set(heard)).toEqual(new Set(['actor', 'learner']));
    for (const each of listening) each.unsubscribe();
  });
});

describe('reading', () => {
  it.each(MAY_CONSUME)('%s, %s: %j', async (stream, subject, roles) => {
    const config = { name: 'looker', filter_subject: subject, ack_policy: 'none', inactive_threshold: 1e10 };
    const request = JSON.stringify({ stream_name: stream, config });
    const call = api(`CONSUMER.CREATE.${stream}.looker.${subject}`);
    expect(await takenFrom(call, request)).toEqual(inOrder(...roles, 'operator'));
    // Neither under another name, nor all at once, nor one by one.
    const all = JSON.stringify({ stream_name: stream, config: { name: 'looker', ack_policy: 'none' } });
    for (const other of [`CONSUMER.CREATE.${stream}`, `CONSUMER.DURABLE.CREATE.${stream}.looker`])
      expect(await takenFrom(api(other), all)).toEqual([]);
    const tidying = stream.startsWith('KV_') ? [] : (['task-loader'] as const);
    const purging = await takenFrom(api(`STREAM.PURGE.${stream}`), '{"filter":"none"}');
    expect(purging).toEqual(inOrder(...tidying, 'operator'));
  });

  it.each(Object.entries(MAY_LOOK_THROUGH))('%s, one by one: %j', async (stream, roles) => {
    const one = await takenFrom(api(`STREAM.MSG.GET.${stream}`), '{"seq":1}');
    expect(one).toEqual(inOrder(...roles, 'operator'));
    const queues = STREAM_STORAGE.filter(({ kind }) => kind === 'queue').map(({ name }) => name);
    // No role may read queues this way.
    if (queues.includes(stream)) return;
    expect(await takenFrom(api(`DIRECT.GET.${stream}`), '{"seq":1}')).toEqual(['operator']);
  });

  it.each(Object.entries(MAY_LOOK_UP))('%s: %j', async (place, roles) => {
    expect(await takenFrom(api(`DIRECT.GET.${place}`), '')).toEqual(inOrder(...roles, 'operator'));
  });

  it.each(Object.entries(MAY_READ_KEY))('key %s of a run: %j', async (name, roles) => {
    const subject = `$KV.${BUCKETS.runs}.${runKeys[name as keyof typeof runKeys](RUN)}`;
    const call = api(`DIRECT.GET.KV_${BUCKETS.runs}.${subject}`);
    expect(await takenFrom(call, '')).toEqual(inOrder(...roles, 'operator'));
  });

  it('a subscriber to all subjects hears nothing but itself', async () => {
    const heard: [User, string][] = [];
    const listening = USERS.map((user) =>
      as.get(user)!.subscribe('>', { callback: (_, { subject }) => void heard.push([user, subject]) }),
    );
    await flushed();
    const published: [User, string][] = [
      ['publisher', subjects.task(RUN)],
      ['learner', api(`$KV.${BUCKETS.runs}.${runKeys.policy(RUN)}`)],
      ['actor', subjects.trajectory(RUN, 'train')],
      ['task-loader', subjects.rollout(RUN, 'train')],
    ];
    for (const [user, subject] of published) await isTaken(user, subject);
    await flushed();
    for (const each of listening) each.unsubscribe();
    for (const [user, subject] of published) {
      expect(heard.filter((entry) => entry[1] === subject).map(([who]) => who)).toEqual([user]);
    }
    const inboxes = heard.filter(
      ([user, subject]) => subject.startsWith('_INBOX') && !subject.startsWith(`${inboxOf(user)}.`),
    );
    expect(inboxes).toEqual([]);
  });
});

describe('messages of the broker itself', () => {
  const policy = { version: 3, adapterDigest: 'true', checkpoint: 'c', groupsRequested: 1 };
  const settled = async () => {
    await as.get('actor')!.flush();
    await new Promise((resolve) => setTimeout(resolve, 200));
    return (await operator.runsBucket.get(runKeys.policy(RUN)))?.value;
  };

  beforeEach(() => operator.runsBucket.put(runKeys.policy(RUN), policy));

  it('an answer never becomes a message of a stream, under any reply subject', async () => {
    const reply = `$KV.${BUCKETS.runs}.${runKeys.policy(RUN)}`;
    const stolen = `DIRECT.GET.KV_${BUCKETS.runs}.$KV.${BUCKETS.runs}.${runKeys.state(RUN)}`;
    for (const call of [stolen, `STREAM.INFO.KV_${BUCKETS.runs}`, 'INFO']) {
      for (const answered of [reply, api(reply)])
        as.get('actor')!.publish(api(call), '', { reply: answered });
    }
    expect(await settled()).toEqual(policy);
  });

  it('nor does what a consumer delivers', async () => {
    const rollout = subjects.rollout(RUN, 'train');
    await isTaken('task-loader', rollout);
    for (const target of [`$KV.${BUCKETS.runs}.${runKeys.policy(RUN)}`, subjects.event(RUN, 'train_step')]) {
      const config = { name: 'pusher', filter_subject: rollout, ack_policy: 'none', deliver_subject: target };
      const request = JSON.stringify({ stream_name: STREAMS.rollouts, config });
      const before = await messagesOn(subjects.event(RUN, 'train_step'));
      await isTaken('actor', api(`CONSUMER.CREATE.${STREAMS.rollouts}.pusher.${rollout}`), request);
      expect(await settled()).toEqual(policy);
      expect(await messagesOn(subjects.event(RUN, 'train_step'))).toBe(before);
    }
  });
});

async function messagesOn(subject: string): Promise<number> {
  const answer = await as
    .get('operator')!
    .request(api(`STREAM.INFO.${STREAMS.events}`), JSON.stringify({ subjects_filter: subject }));
  const { state } = answer.json<{ state: { subjects?: Record<string, number> } }>();
  return state.subjects?.[subject] ?? 0;
}
