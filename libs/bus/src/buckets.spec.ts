import { createHash } from 'node:crypto';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { Kvm } from '@nats-io/kv';
import { BUCKETS, STREAMS } from '@ui-rl/contracts';
import { eventually, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService } from './index';

Logger.overrideLogger(false);

describe('buckets', () => {
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

  it('updates by revision and reports who was first', async () => {
    const revision = await bus.runsBucket.create('a.b', { n: 1 });
    expect(await bus.runsBucket.create('a.b', { n: 2 })).toBeNull();
    expect(await bus.runsBucket.update('a.b', { n: 3 }, revision ?? 0)).toBeGreaterThan(revision ?? 0);
    expect(await bus.runsBucket.update('a.b', { n: 4 }, revision ?? 0)).toBeNull();
    expect((await bus.runsBucket.get('a.b'))?.value).toEqual({ n: 3 });
    await bus.runsBucket.delete('a.b');
    expect(await bus.runsBucket.get('a.b')).toBeNull();
    expect(await bus.runsBucket.create('a.b', { n: 5 })).not.toBeNull();
  });

  it.each(['not JSON', '{"n":', '\u0000', '['.repeat(100_000)])(
    'reads a key that holds %j as damaged, and follows the others',
    async (text) => {
      const stop = new AbortController();
      const seen: unknown[] = [];
      const following = (async () => {
        for await (const { key, value } of bus.runsBucket.watch('w.*', stop.signal)) seen.push([key, value]);
      })();
      const bucket = await new Kvm(bus.connection).open(BUCKETS.runs);
      await bucket.put('w.a', text);
      await bus.runsBucket.put('w.b', { n: 1 });
      await eventually('the right key', () => seen.length > 0);
      expect(seen).toEqual([['w.b', { n: 1 }]]);
      await expect(bus.runsBucket.get('w.a')).rejects.toMatchObject({ category: 'damaged' });
      stop.abort();
      await following;
    },
  );

  it('lists keys in the order in which they were written last', async () => {
    for (const key of ['c', 'a', 'b', 'c']) await bus.runsBucket.put(key, key);
    expect(await bus.runsBucket.keys()).toEqual(['a', 'b', 'c']);
    await bus.runsBucket.put('a', 'again');
    expect(await bus.runsBucket.keys()).toEqual(['b', 'c', 'a']);
  });

  it('loses no change of many writers', async () => {
    const add = async () => {
      await bus.runsBucket.change<{ n: number }>('count', (current) => ({ n: (current?.n ?? 0) + 1 }));
    };
    await Promise.all(Array.from({ length: 10 }, add));
    expect((await bus.runsBucket.get<{ n: number }>('count'))?.value.n).toBe(10);
  });

  it('ends a watch that is aborted at any moment of its opening', async () => {
    const endedAfter = async (turns: number): Promise<boolean> => {
      const controller = new AbortController();
      const changes = bus.runsBucket.watch('a.b', controller.signal);
      const first = changes.next();
      for (let turn = 0; turn < turns; turn += 1) await setImmediate();
      controller.abort();
      return (await first).done === true;
    };
    for (let turns = 0; turns < 60; turns += 1) {
      const late = setTimeout(10_000, 'is still waiting', { ref: false });
      expect([turns, await Promise.race([endedAfter(turns), late])]).toEqual([turns, true]);
    }
  });

  it('lists keys, and forgets deleted ones, while others are written all the time', async () => {
    const bucket = bus.runsBucket;
    const names = Array.from({ length: 200 }, (_, index) => `k${index}.state`);
    await Promise.all(names.map((name) => bucket.put(name, { name })));
    await Promise.all(names.slice(100).map((name) => bucket.delete(name)));
    const over = new AbortController();
    const writing = (async () => {
      while (!over.signal.aborted)
        await Promise.all([bucket.put('a.lease', 1), bucket.put('z.lease', 1), bucket.put('k5.state', 1)]);
    })();
    try {
      for (let round = 0; round < 20; round += 1) {
        expect((await bucket.keys('*.state')).toSorted()).toEqual(names.slice(0, 100).toSorted());
      }
      await bucket.forgetDeleted(60_000);
      expect(await bucket.deletedAt('k150.state')).not.toBeNull();
      await bucket.forgetDeleted(0);
      expect(await bucket.deletedAt('k150.state')).toBeNull();
      expect((await bucket.keys()).toSorted()).toEqual(
        ['a.lease', ...names.slice(0, 100), 'z.lease'].toSorted(),
      );
    } finally {
      over.abort();
      await writing;
    }
  });

  it.each([0, 1, 5_000, 300_000])('keeps a content of %d bytes once', async (size) => {
    const bytes = Buffer.alloc(size, 7);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const other = await connect('other');
    const [blobs, others] = [bus.blobs.of('run'), other.blobs.of('run')];
    expect(await Promise.all([blobs.put(bytes), blobs.put(bytes), others.put(bytes)])).toEqual([
      hash,
      hash,
      hash,
    ]);
    expect(Buffer.from((await others.get(hash)) ?? []).equals(bytes)).toBe(true);
    const { state } = await (await jetstreamManager(bus.connection)).streams.info(STREAMS.blobs);
    expect(state.messages).toBe(1);
    expect(await blobs.get('0'.repeat(64))).toBeNull();
    // One run cannot read blobs of another, even if a message names them.
    expect(await bus.blobs.of('another').get(hash)).toBeNull();
    expect(await blobs.get('*')).toBeNull();
    expect(() => bus.blobs.of('*')).toThrow(/"\*" is not a run id/);
    await other.close();
  });

  it('leaves nothing of a watch that has ended at the broker', async () => {
    const { consumers } = await jetstreamManager(bus.connection);
    const watches = async () => (await consumers.list('KV_runs').next()).length;
    const controller = new AbortController();
    await bus.runsBucket.put('a.b', { n: 1 });
    for await (const { value } of bus.runsBucket.watch('a.b', controller.signal)) {
      expect(value).toEqual({ n: 1 });
      expect(await watches()).toBe(1);
      controller.abort();
    }
    await eventually('the end of its consumer', async () => (await watches()) === 0, 5_000);
  });

  it('leads a run through its phases and lets none leave its end', async () => {
    const controller = new AbortController();
    const opened: string[] = [];
    const watching = (async () => {
      for await (const run of bus.runs.watchOpen(undefined, controller.signal)) opened.push(run.record.runId);
    })();
    await bus.runs.create({ runId: 'a', createdAt: '2026-11-20T10:00:00Z', config: { x: 1 } });
    await bus.runs.create({ runId: 'a', createdAt: '2026-11-20T10:00:00Z', config: { x: 1 } });
    await expect(
      bus.runs.create({ runId: 'a', createdAt: '2026-11-20T11:00:00Z', config: {} }),
    ).rejects.toThrow(/there is a run a already/);
    expect(await bus.runs.changePhase('a', 'final_eval', { from: ['training'] })).toBe(false);
    expect(await bus.runs.changePhase('a', 'training', { from: ['baseline'] })).toBe(true);
    expect(await bus.runs.changePhase('a', 'training', { from: ['baseline'] })).toBe(true);
    expect(await bus.runs.changePhase('a', 'stopped', { reason: 'enough' })).toBe(true);
    expect(await bus.runs.changePhase('a', 'training')).toBe(false);
    expect(await bus.runs.state('a')).toMatchObject({ phase: 'stopped', reason: 'enough' });
    await eventually('the run to be seen', () => opened.length > 0);
    controller.abort();
    await watching;
    expect(opened).toEqual(['a']);
  });

  it('leaves out invalid records in the bucket of runs, and continues with the others', async () => {
    const createdAt = new Date().toISOString();
    await bus.runsBucket.put('broken.record', { runId: 'broken', createdAt: 'yesterday', config: {} });
    await bus.runsBucket.put('broken.state', { phase: 'baseline', since: createdAt });
    await bus.runsBucket.put('odd.state', { phase: 'dreaming', since: createdAt });
    await bus.runs.create({ runId: 'sound', createdAt, config: {} });
    expect((await bus.runs.waitForOpen())?.record.runId).toBe('sound');
    await expect(bus.runs.state('odd')).rejects.toThrow(
      /bucket runs holds for odd.state cannot be read: phase: must be one of .*, found "dreaming"/,
    );
  });
});
