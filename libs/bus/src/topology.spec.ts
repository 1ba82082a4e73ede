import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { STREAM_STORAGE, STREAMS, subjects } from '@ui-rl/contracts';
import { makeTask, type NatsServer, startNats } from '@ui-rl/testkit';
import { BusService } from './index';

Logger.overrideLogger(false);

describe('the streams of a broker', () => {
  let nats: NatsServer;
  let bus: BusService | undefined;

  async function open(storeLimitMb?: number): Promise<BusService> {
    nats = await startNats({ storeLimitMb });
    return connect();
  }

  async function connect(): Promise<BusService> {
    await bus?.close();
    bus = await BusService.connect({ service: 'test', servers: [nats.url] });
    return bus;
  }

  async function bounds(): Promise<Record<string, number>> {
    const jsm = await jetstreamManager(bus!.connection);
    const found: Record<string, number> = {};
    for await (const { config } of jsm.streams.list()) found[config.name] = config.max_bytes;
    return found;
  }

  afterEach(async () => {
    await bus?.close();
    bus = undefined;
    await nats.stop();
  });

  it('have their own bounds', async () => {
    await open();
    const expected = STREAM_STORAGE.map(({ name, maxBytes = -1 }) => [name, maxBytes]);
    expect(await bounds()).toMatchObject(Object.fromEntries(expected));
  });

  // In the smaller store, exactly one of them fits.
  it.each([64, 400])('share a store of %i MB that cannot reserve as much for each', async (storeLimitMb) => {
    await open(storeLimitMb);
    expect(new Set(Object.values(await bounds()))).toEqual(new Set([-1]));
    await bus!.publishJson(subjects.task('run'), makeTask(), 'one');
    await bus!.runsBucket.put('run.state', { phase: 'baseline' });
    expect(await bus!.storedCount(STREAMS.tasks, subjects.task('run'))).toBe(1);
  });

  it('keep the bound that an operator has set where the others give theirs back', async () => {
    await open(400);
    const jsm = await jetstreamManager(bus!.connection);
    await jsm.streams.update(STREAMS.tasks, { max_bytes: 10_000_000 });
    await jsm.streams.delete(STREAMS.blobs);
    await connect();
    const { [STREAMS.tasks]: tasks, ...others } = await bounds();
    expect(tasks).toBe(10_000_000);
    expect(new Set(Object.values(others))).toEqual(new Set([-1]));
  });
});
