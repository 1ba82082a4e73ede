import { Logger } from '@nestjs/common';
import { STREAMS, subjects } from '@ui-rl/contracts';
import { drained, eventually, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, type RunSnapshot } from './index';

Logger.overrideLogger(false);

/** The part of a task that these consumers read. */
interface Described {
  description: string;
}

describe('a broker that comes back on an older copy of its store', () => {
  let nats: NatsServer;
  let bus: BusService;
  const connect = (service = 'test') => BusService.connect({ service, servers: [nats.url] });
  const createdAt = '2026-11-20T10:00:00Z';

  beforeEach(async () => {
    nats = await startNats();
    bus = await connect();
  });

  afterEach(async () => {
    await bus.close();
    await nats.stop();
  });

  async function setBack(streams?: 'messages'): Promise<void> {
    const again = new Promise<void>((resolve) => bus.onReconnect(resolve));
    await nats.kill();
    nats.restoreStore(streams);
    await nats.launch();
    await again;
  }

  const publish = (description: string) =>
    bus.publishJson(subjects.task('run'), makeTask({ description }), description);

  it('loses no message by the acknowledgement of one that had its number before', async () => {
    const begun: string[] = [];
    const done: string[] = [];
    let [finishLost, failNew]: (() => void)[] = [];
    await bus.consume<Described>({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('run'),
      concurrency: 2,
      retry: { firstMs: 20, maxMs: 20, attempts: 5 },
      handle: async ({ description }, { delivery }) => {
        begun.push(description);
        if (description === 'lost') await new Promise<void>((resolve) => (finishLost = resolve));
        if (description === 'new' && delivery === 1) {
          await new Promise<void>((_, reject) => (failNew = () => reject(new Error('later'))));
        }
        done.push(description);
      },
    });
    nats.saveStore();
    await publish('lost');
    await eventually('the first message', () => begun.includes('lost'));
    await setBack();
    await publish('new');
    await eventually('the message in its place', () => begun.includes('new'));
    finishLost();
    await eventually('the end of the first', () => done.includes('lost'));
    await bus.connection.flush();
    failNew();
    await eventually('the other one', () => done.includes('new'), 10_000);
    await drained(bus, STREAMS.tasks, 'loader');
    expect(begun).toEqual(['lost', 'new', 'new']);
  });

  it('stops waiting for a message that it lost on restart: aborts its handler, and frees its slot', async () => {
    const begun: string[] = [];
    let aborted = false;
    let [finish]: (() => void)[] = [];
    const consumption = await bus.consume<Described>({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('run'),
      handle: async ({ description }, { signal }) => {
        begun.push(description);
        if (description !== 'lost') return;
        signal.addEventListener('abort', () => (aborted = true));
        await new Promise<void>((resolve) => (finish = resolve));
      },
    });
    nats.saveStore();
    await publish('lost');
    await eventually('the first message', () => begun.length === 1);
    await setBack();
    await publish('new');
    await eventually('the one in its place', () => begun.length === 2);
    expect(aborted).toBe(true);
    await drained(bus, STREAMS.tasks, 'loader');
    let stopped = false;
    const stopping = consumption.stop().then(() => (stopped = true));
    await bus.connection.flush();
    expect(stopped).toBe(false);
    finish();
    await stopping;
  });

  it('hands over what a consumer would pass over that stands behind the end of its stream', async () => {
    const seen: string[] = [];
    await bus.consume<Described>({
      stream: STREAMS.events,
      durable: 'log',
      subject: 'uirl.event.run.*',
      // Redelivers messages that the restored broker does not know as acknowledged.
      ackWaitMs: 1_000,
      handle: async ({ description }) => void seen.push(description),
    });
    const say = (description: string) =>
      bus.publishJson(
        subjects.event('run', 'said'),
        { runId: 'run', type: 'said', description },
        description,
      );
    await say('kept');
    await eventually('the first', () => seen.length === 1);
    nats.saveStore();
    for (const description of ['lost', 'lost, too']) await say(description);
    await eventually('the others', () => seen.length === 3);
    await drained(bus, STREAMS.events, 'log');
    await setBack('messages');
    for (const description of ['new 1', 'new 2', 'new 3']) await say(description);
    await eventually('what was said since', () => new Set(seen.slice(3)).size >= 3, 10_000);
    await drained(bus, STREAMS.events, 'log');
    expect(seen.slice(3)).toEqual(expect.arrayContaining(['new 1', 'new 2', 'new 3']));
  });

  it('knows a run again that it had not heard of then, and keys are watched on', async () => {
    nats.saveStore();
    const stop = new AbortController();
    const opened: RunSnapshot[] = [];
    const versions: number[] = [];
    const other = await connect('other');
    const watching = (async () => {
      for await (const run of bus.runs.watchOpen(undefined, stop.signal)) opened.push(run);
    })();
    const following = (async () => {
      for await (const { version } of bus.runs.watchPolicy('late', stop.signal)) versions.push(version);
    })();
    await other.runs.create({ runId: 'late', createdAt, config: { x: 1 } });
    await other.runs.changePhase('late', 'training');
    const announce = (version: number) =>
      other.runs.putPolicy('late', {
        epoch: 0,
        version,
        adapterDigest: 'a',
        checkpoint: 'c',
        groupsRequested: 2,
      });
    await announce(1);
    await other.blobs.of('late').put(Buffer.from('pixels'));
    await eventually('the run', () => opened.length === 1 && versions.length === 1);
    await eventually('its phase', async () => (await bus.runs.state('late'))?.phase === 'training');
    await bus.runsBucket.keys();
    await setBack();
    await eventually('the record', async () => (await other.runs.record('late')) !== null);
    expect((await other.runs.record('late'))?.config).toEqual({ x: 1 });
    await eventually('the policy', async () => (await bus.runs.policy('late'))?.groupsRequested === 2);
    await eventually('the state', async () => (await other.runs.state('late'))?.phase === 'training');
    await announce(2);
    await eventually('the policy', () => versions.at(-1) === 2);
    const hash = await other.blobs.of('late').put(Buffer.from('pixels'));
    expect(Buffer.from((await bus.blobs.of('late').get(hash)) ?? []).toString()).toBe('pixels');
    expect(opened).toHaveLength(1);
    stop.abort();
    await Promise.all([watching, following]);
    await other.close();
  });

  it('serves a run on whose end it does not know, and begins none again that was deleted', async () => {
    const stop = new AbortController();
    const opened: string[] = [];
    const watching = (async () => {
      for await (const { record } of bus.runs.watchOpen(undefined, stop.signal)) opened.push(record.runId);
    })();
    const other = await connect('other');
    await other.runs.create({ runId: 'gone', createdAt, config: {} });
    await other.runs.create({ runId: 'long', createdAt, config: {} });
    await eventually('both', () => opened.length === 2);
    await other.runs.changePhase('gone', 'stopped');
    await other.runStorage.delete('gone');
    nats.saveStore();
    await other.runs.changePhase('long', 'finished');
    await eventually('its end', async () => (await bus.runs.state('long'))?.phase === 'finished');
    await bus.connection.flush();
    await setBack();
    await eventually('the run once more', () => opened.length === 3, 10_000);
    expect(opened[2]).toBe('long');
    expect(await bus.runs.record('gone')).toBeNull();
    stop.abort();
    await watching;
    await other.close();
  });
});
