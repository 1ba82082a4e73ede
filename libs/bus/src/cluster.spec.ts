import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { ANY, BUCKETS, STREAMS, subjects } from '@ui-rl/contracts';
import { eventually, findNatsServer, makeRollout, NatsCluster, startNats } from '@ui-rl/testkit';
import { BusService } from './bus';

Logger.overrideLogger(false);

const TEMPLATES = resolve(__dirname, '../../../deploy/nats');
const RUN = 'run';
const SETTLES_MS = 60_000;

let cluster: NatsCluster;
const open: BusService[] = [];

beforeAll(async () => {
  cluster = await NatsCluster.start({ leaf: ['actor', 'env'] });
}, 90_000);

afterAll(async () => {
  await Promise.all(open.map((bus) => bus.close()));
  await cluster.stop();
});

async function connect(service: string, replicas?: number, file = contextOf(service)): Promise<BusService> {
  const { url, ...context } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  const { user, password, inbox_prefix: inboxPrefix, jetstream_api_prefix: apiPrefix } = context;
  const bus = await BusService.connect({
    ...{ service, servers: url.split(','), user, password, inboxPrefix, apiPrefix, replicas },
  });
  open.push(bus);
  return bus;
}

function contextOf(service: string): string {
  return cluster.contextFile(service === 'test' ? 'operator' : service);
}

async function copies(bus: BusService): Promise<Record<string, number>> {
  const jsm = await jetstreamManager(bus.connection, { apiPrefix: 'JS.UIRL', checkAPI: false });
  const names = [
    ...Object.values(STREAMS),
    ...[`KV_${BUCKETS.runs}`, `KV_${BUCKETS.deadLetters}`],
    ...[`OBJ_${BUCKETS.checkpoints}`, `OBJ_${BUCKETS.files}`],
  ];
  const found: Record<string, number> = {};
  for (const name of names) found[name] = (await jsm.streams.info(name)).config.num_replicas;
  return found;
}

it('streams and buckets are kept by one server, by as many as are asked for, and left so by who asks for none', async () => {
  const one = await connect('test');
  expect(new Set(Object.values(await copies(one)))).toEqual(new Set([1]));
  const three = await connect('test', 3);
  expect(Object.keys(await copies(three))).toHaveLength(10);
  expect(new Set(Object.values(await copies(three)))).toEqual(new Set([3]));
  const service = await connect('task-loader');
  await service.runsBucket.put('run.loader', { step: 1 });
  expect(new Set(Object.values(await copies(three)))).toEqual(new Set([3]));
}, 90_000);

it('workers behind a leaf node are who they are in the cluster: they follow runs, read and write streams, ask and answer', async () => {
  await connect('test', 3);
  const file = await cluster.startLeaf();
  const actor = await connect('actor', undefined, file('actor'));
  const env = await connect('env', undefined, file('env'));
  const loader = await connect('task-loader');
  await loader.runsBucket.put('far.record', { n: 1 });
  expect((await env.runsBucket.get('far.record'))?.value).toEqual({ n: 1 });
  const steps: string[] = [];
  env.connection.subscribe(subjects.envStep('far'), {
    callback: (_, message) => {
      steps.push(message.string());
      message.respond('done');
    },
  });
  await env.connection.flush();
  const step = () => actor.connection.request(subjects.envStep('far'), 'click', { timeout: 3_000 });
  await eventually('an answer', async () => (await step()).string() === 'done', SETTLES_MS);
  expect(steps).toEqual(['click']);
  await loader.publishJson(subjects.rollout(RUN, 'train'), makeRollout({ runId: RUN }), 'rollout');
  const played: object[] = [];
  await actor.consume<object>({
    ...{ stream: STREAMS.rollouts, durable: 'actors', subject: subjects.rollout(RUN, ANY) },
    handle: async (message) => void played.push(message),
  });
  await eventually('the rollout', () => played.length > 0, SETTLES_MS);
  const hash = await actor.blobs.of(RUN).put(Buffer.from('of a far screen'));
  expect((await loader.blobs.of(RUN).get(hash))?.byteLength).toBe(15);
  await expect(
    actor.connection.request('JS.UIRL.$KV.runs.far.policy', '{}', { timeout: 2_000 }),
  ).rejects.toThrow(/permissions violation|no responders|timeout/i);
}, 120_000);

it('stores without room for all the bounds are shared in a cluster, too', async () => {
  const small = await NatsCluster.start({ storeLimitMb: 400 });
  let bus: BusService | undefined;
  try {
    const { user, password } = JSON.parse(readFileSync(small.contextFile('operator'), 'utf8')) as Record<
      string,
      string
    >;
    bus = await BusService.connect({
      ...{ service: 'test', servers: small.url.split(','), user, password, replicas: 3 },
      ...{ inboxPrefix: '_INBOX.operator', apiPrefix: 'JS.UIRL' },
    });
    const jsm = await jetstreamManager(bus.connection, { apiPrefix: 'JS.UIRL', checkAPI: false });
    for (const stream of Object.values(STREAMS)) {
      const { config } = await jsm.streams.info(stream);
      expect(config).toMatchObject({ max_bytes: -1, num_replicas: 3 });
    }
  } finally {
    await bus?.close();
    await small.stop();
  }
}, 120_000);

it('a service without the right to create streams waits for an operator who does', async () => {
  const alone = await startNats({ accounts: true });
  const read = (user: string) =>
    JSON.parse(readFileSync(alone.contextFile(user), 'utf8')) as Record<string, string>;
  const connectAs = (user: string) =>
    BusService.connect({
      ...{ service: user, servers: [alone.url], user, password: read(user).password },
      ...{ inboxPrefix: `_INBOX.${user}`, apiPrefix: 'JS.UIRL' },
    });
  let operator: BusService | undefined;
  const waiting = connectAs('actor');
  try {
    const first = await Promise.race([waiting, connectAs('operator').then((bus) => (operator = bus))]);
    expect(first).toBe(operator);
    expect(await (await waiting).runsBucket.get('any.state')).toBeNull();
  } finally {
    await Promise.all([operator?.close(), waiting.then((bus) => bus.close()).catch(() => undefined)]);
    await alone.stop();
  }
}, 60_000);

it('a broker without JetStream is named as what it is', async () => {
  const nats = await startNats({ jetstream: false });
  const connecting = BusService.connect({ service: 'test', servers: [nats.url] });
  await expect(connecting).rejects.toThrow(/JetStream is switched off .* nats-server -js/);
  await nats.stop();
});

it('a single server says that it cannot keep several copies', async () => {
  const nats = await startNats();
  const connecting = BusService.connect({ service: 'test', servers: [nats.url], replicas: 3 });
  await expect(connecting).rejects.toThrow(/3 servers .* NATS_REPLICAS/);
  await nats.stop();
});

describe('nats-server takes what credentials.mjs writes', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'uirl-templates-'));
    const make = (name: string, ...args: string[]) =>
      execFileSync(process.execPath, [join(TEMPLATES, 'credentials.mjs'), join(folder, name), ...args]);
    make('one', 'nats://a:4222');
    make('many', 'nats://a.example:4222,nats://b.example:4222,nats://c.example:4222', '--leaf', 'actor,env');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const accepts = (file: string) => {
    const said = spawnSync(findNatsServer(), ['-t', '-c', join(folder, file)], { encoding: 'utf8' });
    if (said.status !== 0) throw new Error(said.stderr);
    return said.stderr;
  };

  it.each(['one/nats.conf', 'many/cluster.conf', 'many/leaf/leaf.conf'])('%s', (file) => {
    expect(accepts(file)).toMatch(/configuration file .* is valid/);
  });

  it('and refuses it where something is missing', () => {
    cpSync(join(folder, 'many'), join(folder, 'torn'), { recursive: true });
    writeFileSync(join(folder, 'torn', 'passwords.conf'), '');
    expect(() => accepts('torn/cluster.conf')).toThrow(/can not be found/);
  });
});
