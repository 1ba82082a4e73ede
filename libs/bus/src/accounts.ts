import { ACCESS, BUCKETS, ROLES, STREAMS, type Role, type StoreName } from '@ui-rl/contracts';

/** Prefix of the JetStream API for clients in role accounts. */
export const API_PREFIX = 'JS.UIRL';
const API = '$JS.API';
const OPERATOR = 'operator';

/** Inbox prefix for replies to a role; other roles may not subscribe to it. */
export function inboxOf(role: string): string {
  return `_INBOX.${role}`;
}

/** An export of one account that another account imports. */
interface Shared {
  /** The exporting account. */
  from: string;
  kind: 'service' | 'stream';
  subject: string;
  /** Local name in the importing account, if it differs. */
  as?: string;
  /** One request may have several replies. */
  many?: boolean;
}

const STORES: readonly StoreName[] = ['checkpoints', 'files'];
const KEYS = `KV_${BUCKETS.runs}`;
const DEAD_LETTERS = `KV_${BUCKETS.deadLetters}`;
const objects = (store: StoreName): string => `OBJ_${BUCKETS[store]}`;
/** Every stream, including those behind the buckets. */
const ALL = [...Object.values(STREAMS), KEYS, DEAD_LETTERS, ...STORES.map(objects)];

/**
 * Users of a broker as nats-server configuration: every role and every stream has its own account. A role may do only
 * what the account of a stream, or of the role that answers, exports to it; accounts see nothing else of each other.
 * Replies of the broker therefore reach only the account that requested them, even if the request names the reply
 * subject of another, and messages of a consumer stay within the account of its stream. Passwords are variables:
 * `$learner_password` …
 */
export function accountsConfiguration(): string {
  const uses = new Map<string, Shared[]>(ROLES.map((role) => [role, usesOf(role)]));
  uses.set(OPERATOR, ALL.flatMap(usesOfOperator));
  const accounts = [
    ...ALL.map((stream) => account(stream, exportsOf(stream, uses), ['jetstream: enabled'])),
    ...[...uses].map(([role, shared]) =>
      account(role, exportsOf(role, uses), [
        userOf(role),
        `imports: [\n${shared.map(importOf).join('\n')}\n    ]`,
      ]),
    ),
  ];
  return `${HEAD}\naccounts {\n${accounts.join('\n')}\n}\n`;
}

const HEAD = `# Made by "npm run docs" from libs/contracts/src/access.ts: who may do what at the broker.
# An account for each stream and each role: docs/operations/broker.md says how it is used.
include ./passwords.conf`;

function account(name: string, shared: readonly string[], parts: readonly string[]): string {
  const exports = shared.length === 0 ? [] : [`exports: [\n${shared.join('\n')}\n    ]`];
  return `  ${accountOf(name)} {\n${[...parts, ...exports].map((part) => `    ${part}`).join('\n')}\n  }`;
}

const accountOf = (name: string): string => `UIRL_${name.replaceAll('-', '_').toUpperCase()}`;

/** The variable that holds the password. */
function passwordOf(role: string): string {
  return `${role.replaceAll('-', '_')}_password`;
}

/** A responder may reply once to the requester, and to no other inbox. */
const ANSWERING = `permissions: { publish: { allow: ">", deny: "_INBOX.>" }, allow_responses: { max: 1, expires: "1h" } }`;

function userOf(role: string): string {
  return `users: [ { user: "${role}", password: $${passwordOf(role)}, ${ANSWERING} } ]`;
}

function exportsOf(owner: string, uses: ReadonlyMap<string, readonly Shared[]>): string[] {
  const users = new Map<string, { shared: Shared; roles: Set<string> }>();
  for (const [role, all] of uses) {
    for (const shared of all.filter(({ from }) => from === owner)) {
      const key = `${shared.kind} ${shared.subject}`;
      const known = users.get(key) ?? { shared, roles: new Set() };
      users.set(key, known);
      known.roles.add(role);
    }
  }
  return [...users.values()].map(({ shared: { kind, subject, many }, roles }) => {
    const response = many === true ? ', response_type: stream' : '';
    return `      { ${kind}: "${subject}"${response}, accounts: [${[...roles].map(accountOf).join(', ')}] }`;
  });
}

function importOf({ from, kind, subject, as }: Shared): string {
  const name = as === undefined ? '' : `, to: "${as}"`;
  return `      { ${kind}: { account: ${accountOf(from)}, subject: "${subject}" }${name} }`;
}

function usesOf(role: Role): Shared[] {
  const access = ACCESS[role];
  const { readsKeys, writesKeys, deadLetters } = access;
  const looks = access.readsKeys.length > 0 ? ALL.map(looksAt) : [];
  const follows = new Set<string>();
  const reading = access.consumes.flatMap(({ stream, subject }) => consumes(stream, subject));
  if (readsKeys.length > 0) follows.add(KEYS);
  if (deadLetters === 'reads') follows.add(DEAD_LETTERS);
  const stores = STORES.flatMap((store) => {
    const mayWrite = access.writes.includes(store);
    if (!mayWrite && !access.reads.includes(store)) return [];
    follows.add(objects(store));
    return [...readsObjects(store), ...(mayWrite ? writesObjects(store) : [])];
  });
  return unique([
    ...(looks.length > 0 ? [api(KEYS, 'INFO')] : []),
    ...looks,
    ...access.publishes.map((subject) => ({ from: streamOf(subject), kind: 'service' as const, subject })),
    ...reading,
    ...access.looksUp.map((subject) => looksUp(streamOf(subject), subject)),
    ...access.looksThrough.map(looksThrough),
    ...access.lists.flatMap(listsConsumers),
    ...access.tidies.flatMap(tidies),
    ...access.answers.flatMap((subject) => answers(role, subject)),
    ...readsKeys.flatMap((key) => readsKey(KEYS, `$KV.${BUCKETS.runs}.${key}`)),
    ...writesKeys.map((key) => writesKey(KEYS, `$KV.${BUCKETS.runs}.${key}`)),
    ...(deadLetters === 'none' ? [] : [writesKey(DEAD_LETTERS, `$KV.${BUCKETS.deadLetters}.${role}.>`)]),
    ...(deadLetters === 'reads' ? readsKey(DEAD_LETTERS, `$KV.${BUCKETS.deadLetters}.>`) : []),
    ...stores,
    ...[...follows].flatMap((stream) => isPushedTo(stream, role)),
  ]);
}

/** Full access to a stream. */
function usesOfOperator(stream: string): Shared[] {
  const subject = stream.startsWith('KV_')
    ? `$KV.${stream.slice(3)}.>`
    : stream.startsWith('OBJ_')
      ? `$O.${stream.slice(4)}.>`
      : `${Object.keys(SUBJECT_OF).find((prefix) => SUBJECT_OF[prefix] === stream)}>`;
  const verbs = ['CREATE', 'UPDATE', 'DELETE', 'INFO', 'PURGE', 'MSG.GET', 'MSG.DELETE'];
  return [
    ...(stream === KEYS ? [api(KEYS, 'INFO')] : []),
    ...verbs.map((verb) => api(stream, `STREAM.${verb}.${stream}`)),
    api(stream, `DIRECT.GET.${stream}`),
    api(stream, `DIRECT.GET.${stream}.>`),
    api(stream, `CONSUMER.CREATE.${stream}.>`),
    ...['NAMES', 'LIST'].map((verb) => api(stream, `CONSUMER.${verb}.${stream}`)),
    ...['INFO', 'DELETE'].map((verb) => api(stream, `CONSUMER.${verb}.${stream}.*`)),
    { ...api(stream, `CONSUMER.MSG.NEXT.${stream}.*`), many: true },
    { from: stream, kind: 'service', subject: `$JS.ACK.${stream}.>` },
    { from: stream, kind: 'service', subject },
    ...(stream.startsWith('KV_') ? [writesKey(stream, subject)] : []),
    ...isPushedTo(stream, OPERATOR),
  ];
}

function api(stream: string, call: string): Shared {
  return { from: stream, kind: 'service', subject: `${API}.${call}`, as: `${API_PREFIX}.${call}` };
}

/**
 * Exports a request subject as a stream, not as a service: then a request without listeners fails immediately with
 * "no responders". Requests within a role stay within its account.
 */
function answers(role: Role, subject: string): Shared[] {
  const others = ROLES.filter((other) => other !== role && ACCESS[other].asks.includes(subject));
  return others.flatMap((other) => [
    { from: other, kind: 'stream', subject },
    { from: other, kind: 'service', subject: `${inboxOf(other)}.>` },
  ]);
}

const looksAt = (stream: string): Shared => api(stream, `STREAM.INFO.${stream}`);

const looksUp = (stream: string, subject: string): Shared => api(stream, `DIRECT.GET.${stream}.${subject}`);

const looksThrough = (stream: string): Shared => api(stream, `STREAM.MSG.GET.${stream}`);

function listsConsumers(stream: string): Shared[] {
  return [api(stream, `CONSUMER.LIST.${stream}`)];
}

function tidies(stream: string): Shared[] {
  return [
    ...['NAMES', 'LIST'].map((verb) => api(stream, `CONSUMER.${verb}.${stream}`)),
    ...['INFO', 'DELETE'].map((verb) => api(stream, `CONSUMER.${verb}.${stream}.*`)),
    looksThrough(stream),
    ...['MSG.DELETE', 'PURGE'].map((verb) => api(stream, `STREAM.${verb}.${stream}`)),
  ];
}

function consumes(stream: string, subject: string): Shared[] {
  return [
    api(stream, `CONSUMER.CREATE.${stream}.*.${subject}`),
    ...['INFO', 'DELETE'].map((verb) => api(stream, `CONSUMER.${verb}.${stream}.*`)),
    // After a broker returns with an older store, consumers verify that a message is still the one that they read.
    looksThrough(stream),
    { ...api(stream, `CONSUMER.MSG.NEXT.${stream}.*`), many: true },
    { from: stream, kind: 'service', subject: `$JS.ACK.${stream}.>` },
  ];
}

function readsKey(stream: string, subject: string): Shared[] {
  return [
    api(stream, `DIRECT.GET.${stream}.${subject}`),
    api(stream, `CONSUMER.CREATE.${stream}.*.${subject}`),
    api(stream, `CONSUMER.INFO.${stream}.*`),
    api(stream, `CONSUMER.DELETE.${stream}.*`),
  ];
}

/** The client prefixes the subjects of writes with the API prefix. */
function writesKey(stream: string, subject: string): Shared {
  return { from: stream, kind: 'service', subject, as: `${API_PREFIX}.${subject}` };
}

function readsObjects(store: StoreName): Shared[] {
  const stream = objects(store);
  return [
    looksThrough(stream),
    api(stream, `DIRECT.GET.${stream}`),
    api(stream, `CONSUMER.CREATE.${stream}.>`),
    api(stream, `CONSUMER.INFO.${stream}.*`),
    api(stream, `CONSUMER.DELETE.${stream}.*`),
  ];
}

function writesObjects(store: StoreName): Shared[] {
  const stream = objects(store);
  return [
    { from: stream, kind: 'service', subject: `$O.${BUCKETS[store]}.>` },
    api(stream, `STREAM.PURGE.${stream}`),
  ];
}

/** Messages that the broker pushes to a watcher of keys or a reader of objects. */
function isPushedTo(stream: string, role: string): Shared[] {
  return [
    { from: stream, kind: 'stream', subject: `${inboxOf(role)}.>` },
    { from: stream, kind: 'service', subject: `$JS.FC.${stream}.>` },
  ];
}

const SUBJECT_OF: Readonly<Record<string, string>> = {
  'uirl.task.': STREAMS.tasks,
  'uirl.rollout.': STREAMS.rollouts,
  'uirl.trajectory.': STREAMS.trajectories,
  'uirl.event.': STREAMS.events,
  'uirl.blob.': STREAMS.blobs,
  'uirl.parcel.': STREAMS.parcels,
};

function streamOf(subject: string): string {
  const prefix = Object.keys(SUBJECT_OF).find((each) => subject.startsWith(each));
  if (prefix === undefined) throw new Error(`no stream has the subject ${subject}`);
  return SUBJECT_OF[prefix];
}

function unique(all: readonly Shared[]): Shared[] {
  const byKey = new Map(all.map((shared) => [`${shared.from} ${shared.kind} ${shared.subject}`, shared]));
  return [...byKey.values()];
}
