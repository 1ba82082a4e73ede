import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { STREAMS, subjects, Task } from '@ui-rl/contracts';
import { RETRIES, retry } from '@ui-rl/retry';
import { drained, eventually, FaultyProxy, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService } from './index';

Logger.overrideLogger(false);

/** Waits until the client has tried to reconnect this often. */
async function failedReconnections(bus: BusService, count: number): Promise<void> {
  let seen = 0;
  for await (const { type } of bus.connection.status()) {
    if (type === 'reconnecting') seen += 1;
    if (seen > count) return;
  }
}

describe('a broker that comes and goes', () => {
  let nats: NatsServer;
  let bus: BusService;
  const connect = (service = 'test', port = nats.port) =>
    BusService.connect({ service, servers: [`nats://127.0.0.1:${port}`] });

  beforeEach(async () => {
    nats = await startNats();
    bus = await connect();
  });

  afterEach(async () => {
    await bus.close();
    await nats.stop();
  });

  it('carries on when nats-server is killed and returns on its store', async () => {
    const seen: string[] = [];
    const changes: unknown[] = [];
    await bus.consume({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('*'),
      schema: Task,
      handle: async (task) => {
        seen.push(task.description);
      },
    });
    bus.respond({ subject: 'uirl.test', schema: Task, handle: async () => ({ here: true }) });
    const controller = new AbortController();
    void (async () => {
      for await (const change of bus.runsBucket.watch('*.policy', controller.signal))
        changes.push(change.value);
    })();
    await bus.publishJson(subjects.task('run'), makeTask({ description: 'before' }), 'before');
    await bus.runsBucket.put('run.policy', { version: 1 });
    await eventually('the first task', () => seen.length === 1 && changes.length === 1);

    const attempts = failedReconnections(bus, 2);
    await nats.kill();
    const meanwhile = bus.publishJson(
      subjects.task('run'),
      makeTask({ description: 'meanwhile' }),
      'meanwhile',
    );
    const asked = retry(RETRIES.request, () => bus.request('uirl.test', makeTask(), 1_000), {
      until: performance.now() + 20_000,
      isTransientResult: ({ ok }) => !ok,
    });
    await attempts;
    await nats.launch();
    await meanwhile;
    await bus.publishJson(subjects.task('run'), makeTask({ description: 'after' }), 'after');
    await bus.runsBucket.put('run.policy', { version: 2 });
    await eventually('the other tasks', () => seen.length >= 3);
    await eventually('the change', () => changes.length >= 2);
    expect(seen).toEqual(['before', 'meanwhile', 'after']);
    expect(changes).toEqual([{ version: 1 }, { version: 2 }]);
    expect(await asked).toEqual({ ok: true, value: { here: true } });
    controller.abort();
  });

  it('makes streams and buckets anew when the broker comes back with an empty store', async () => {
    const seen: string[] = [];
    await bus.consume({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('*'),
      handle: async (task: Task) => {
        seen.push(task.description);
      },
    });
    const hash = await bus.blobs.of('run').put(Buffer.from('pixels'));
    await nats.kill();
    nats.loseStore();
    await nats.launch();
    await bus.publishJson(subjects.task('run'), makeTask({ description: 'after' }), 'after');
    await bus.runsBucket.put('run.policy', { version: 2 });
    await bus.blobs.of('run').put(Buffer.from('pixels'));
    expect(Buffer.from((await bus.blobs.of('run').get(hash)) ?? []).toString()).toBe('pixels');
    await eventually('the task', () => seen.length === 1, 30_000);
  });

  it('waits for a broker that is not there yet', async () => {
    const proxy = await FaultyProxy.start(nats.port);
    proxy.cut(true);
    const connecting = connect('early', proxy.port);
    await eventually('two attempts', () => proxy.refused >= 2);
    proxy.heal();
    const early = await connecting;
    expect(await early.runsBucket.get('nothing')).toBeNull();
    await early.close();
    await proxy.stop();
  });

  it('begins to read, and asks what is left, while the broker is away', async () => {
    const attempts = failedReconnections(bus, 15);
    await nats.kill();
    const seen: string[] = [];
    const reading = bus.consume({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('*'),
      handle: async (task: Task) => {
        seen.push(task.description);
      },
    });
    const asking = bus.backlog(STREAMS.tasks, 'absent');
    await attempts;
    await nats.launch();
    await reading;
    expect(await asking).toBeNull();
    await bus.publishJson(subjects.task('run'), makeTask({ description: 'after' }), 'after');
    await eventually('the task', () => seen.length === 1);
  });

  it('recovers from a network that swallows everything', async () => {
    const proxy = await FaultyProxy.start(nats.port);
    const far = await connect('far', proxy.port);
    const seen: string[] = [];
    await far.consume({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('*'),
      ackWaitMs: 1_000,
      handle: async (task: Task) => {
        seen.push(task.description);
      },
    });
    proxy.blackhole(true);
    await bus.publishJson(subjects.task('run'), makeTask({ description: 'lost' }), 'lost');
    await eventually('the message to get lost', () => proxy.swallowed > 0);
    proxy.heal();
    proxy.cut();
    await bus.publishJson(subjects.task('run'), makeTask({ description: 'next' }), 'next');
    await drained(bus, STREAMS.tasks, 'loader');
    expect(seen.toSorted()).toEqual(['lost', 'next']);
    await far.close();
    await proxy.stop();
  });

  it('tells the broker again that a message is handled where it gave no answer: it does not come again', async () => {
    const proxy = await FaultyProxy.start(nats.port);
    const far = await connect('far', proxy.port);
    let handled = 0;
    await far.consume({
      ...{ stream: STREAMS.tasks, durable: 'loader', subject: subjects.task('*') },
      handle: async () => {
        handled += 1;
        proxy.blackhole(true);
      },
    });
    await bus.publishJson(subjects.task('run'), makeTask(), 'one');
    await eventually('the acknowledgement to get lost', () => proxy.swallowed > 0);
    proxy.heal();
    await drained(bus, STREAMS.tasks, 'loader');
    expect(handled).toBe(1);
    await far.close();
    await proxy.stop();
  });
});

describe('credentials', () => {
  it('connects with user and password, and ends at once where they are wrong', async () => {
    const nats = await startNats({ config: 'authorization { user: ada, password: secret }' });
    const options = { service: 'test', servers: [nats.url], user: 'ada' };
    const bus = await BusService.connect({ ...options, password: 'secret' });
    expect(await bus.runsBucket.get('nothing')).toBeNull();
    await bus.close();
    await expect(BusService.connect({ ...options, password: 'wrong' })).rejects.toThrow(
      /refuses the credentials/,
    );
    await nats.stop();
  });

  it('takes user and password from the address too', async () => {
    const nats = await startNats({ config: 'authorization { user: ada, password: secret }' });
    const bus = await BusService.connect({
      service: 'test',
      servers: [nats.url.replace('//', '//ada:secret@')],
    });
    expect(await bus.runsBucket.get('nothing')).toBeNull();
    await bus.close();
    await nats.stop();
  });

  it('trusts its own certificate authority, and no other', async () => {
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(__dirname, '../test/tls', name));
    const nats = await startNats({ config: `tls { cert_file: "${cert}", key_file: "${key}" }` });
    const options = { service: 'test', servers: [nats.url.replace('nats:', 'tls:')] };
    const bus = await BusService.connect({ ...options, tls: { caFile: cert } });
    expect(await bus.runsBucket.get('nothing')).toBeNull();
    await bus.close();
    expect(nats.output).not.toContain('TLS handshake error');
    const stop = new AbortController();
    const distrustful = BusService.connect({ ...options, tls: {}, signal: stop.signal });
    await eventually('a refused certificate', () => nats.output.includes('TLS handshake error'));
    stop.abort();
    await expect(distrustful).rejects.toThrow(/stopped while waiting for NATS/);
    await nats.stop();
  });

  it('names a credentials file that cannot be read', async () => {
    await expect(
      BusService.connect({
        service: 'test',
        servers: ['nats://127.0.0.1:1'],
        credentialsFile: '/no/such.creds',
      }),
    ).rejects.toThrow(/cannot read the NATS credentials file "\/no\/such.creds"/);
  });
});
