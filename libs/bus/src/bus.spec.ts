import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { RolloutRequest, STREAMS, subjects, Task } from '@ui-rl/contracts';
import { eventually, FaultyProxy, makeRollout, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, failure, type SetAsideRecord } from './index';

Logger.overrideLogger(false);

describe('the bus over a real nats-server', () => {
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

  describe('streams', () => {
    it('stores a message once, however often it is published with one id', async () => {
      const first = await bus.publishJson(subjects.task('run'), { description: 'Open' }, 'same');
      const second = await bus.publishJson(subjects.task('run'), { description: 'Open' }, 'same');
      expect(first.duplicate).toBe(false);
      expect(second.duplicate).toBe(true);
      expect(second.seq).toBe(first.seq);
    });

    it('hands messages to the processes of a durable, never more at a time than there are slots', async () => {
      const other = await connect('other');
      const seen: string[] = [];
      let running = 0;
      let most = 0;
      const options = {
        stream: STREAMS.rollouts,
        durable: 'actors',
        subject: subjects.rollout('*', '*'),
        schema: RolloutRequest,
        concurrency: 2,
        handle: async (message: RolloutRequest) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setTimeout(resolve, 20));
          seen.push(message.rolloutId);
          running -= 1;
        },
      };
      await bus.consume(options);
      await other.consume(options);
      for (let index = 0; index < 20; index += 1) {
        const rollout = makeRollout({ rolloutId: `r${index}` });
        await bus.publishJson(subjects.rollout('run', 'train'), rollout, rollout.rolloutId);
      }
      await eventually('20 rollouts', () => seen.length >= 20);
      await other.close();
      expect(new Set(seen).size).toBe(20);
      expect(seen).toHaveLength(20);
      expect(most).toBeLessThanOrEqual(4);
      expect(most).toBeGreaterThan(1);
    });

    it('tries a failed message again and tells the last attempt, then gives up in the open', async () => {
      const deliveries: [number, boolean][] = [];
      let givenUp: unknown;
      await bus.consume({
        stream: STREAMS.rollouts,
        durable: 'actors',
        subject: subjects.rollout('*', '*'),
        schema: RolloutRequest,
        maxDeliver: 3,
        retryDelayMs: 20,
        handle: async (_, context) => {
          deliveries.push([context.delivery, context.lastAttempt]);
          throw new Error('the browser is on fire');
        },
        exhausted: async (_, context) => {
          givenUp = context.error;
        },
      });
      await bus.publishJson(subjects.rollout('run', 'train'), makeRollout(), 'one');
      await eventually('giving up', () => givenUp);
      expect(deliveries).toEqual([
        [1, false],
        [2, false],
        [3, true],
      ]);
      expect(givenUp).toMatchObject({ message: 'the browser is on fire' });
      await eventually('an empty queue', async () => (await pending(bus, STREAMS.rollouts)) === 0);
    });

    it('does not deliver again while a handler works longer than the acknowledgement wait', async () => {
      let calls = 0;
      let done = false;
      await bus.consume({
        stream: STREAMS.tasks,
        durable: 'slow',
        subject: subjects.task('*'),
        ackWaitMs: 300,
        concurrency: 2,
        handle: async () => {
          calls += 1;
          await new Promise((resolve) => setTimeout(resolve, 1_200));
          done = true;
        },
      });
      await bus.publishJson(subjects.task('run'), { description: 'slow' }, 'slow');
      await eventually('the end of the work', () => done);
      expect(calls).toBe(1);
      expect(await pending(bus, STREAMS.tasks)).toBe(0);
    });

    it.each([
      ['no JSON', '{"description":', /not JSON/],
      [
        'no text',
        '{"description":"","maxSteps":0}',
        /description: should not be empty, found ""; maxSteps: .*found 0/,
      ],
      ['no object', '[1]', /expected an object, found an array of 1/],
    ])('sets aside a message that is %s, and stays up', async (_, payload, reason) => {
      const handled: string[] = [];
      await bus.consume({
        stream: STREAMS.tasks,
        durable: 'loader',
        subject: subjects.task('*'),
        schema: Task,
        handle: async (task) => {
          handled.push(task.description);
        },
      });
      bus.connection.publish(subjects.task('run'), payload);
      await bus.publishJson(subjects.task('run'), makeTask({ description: 'good' }), 'good');
      await eventually('the good task', () => handled.length > 0);
      const key = await eventually('the record', async () => (await bus.setAsideBucket.keys())[0]);
      const record = (await bus.setAsideBucket.get<SetAsideRecord>(key))?.value;
      expect(record).toMatchObject({ service: 'test', subject: 'uirl.task.run', payload, encoding: 'utf8' });
      expect(record?.reason).toMatch(reason);
      expect(handled).toEqual(['good']);
      expect(await pending(bus, STREAMS.events)).toBe(1);
      await eventually('an empty queue', async () => (await pending(bus, STREAMS.tasks)) === 0);
    });

    it('says what is too large, and for whom', async () => {
      const large = { description: 'x'.repeat(9 * 1024 * 1024) };
      await expect(bus.publishJson(subjects.task('run'), large, 'large')).rejects.toThrow(
        /message of 9437\d+ bytes for uirl.task.run exceeds the broker's limit of 8388608 bytes/,
      );
    });
  });

  describe('requests', () => {
    it('carries bytes both ways and validates on the way in', async () => {
      bus.respond({
        subject: 'uirl.test',
        queue: 'q',
        schema: Task,
        handle: async (task) => ({ said: task.description, png: new Uint8Array([1, 2, 255]) }),
      });
      const reply = await bus.request<{ said: string; png: Uint8Array }>('uirl.test', makeTask(), 1_000);
      expect(reply).toMatchObject({ ok: true, value: { said: 'Open Settings' } });
      expect(reply.ok && Buffer.from(reply.value.png)).toEqual(Buffer.from([1, 2, 255]));
      expect(await bus.request('uirl.test', { description: 7 }, 1_000)).toMatchObject({
        ok: false,
        error: { code: 'bad_request', message: expect.stringContaining('description') },
      });
      await eventually('the record', async () => (await bus.setAsideBucket.keys('uirl.test.*'))[0]);
    });

    it('validates the reply too', async () => {
      bus.respond({ subject: 'uirl.test', schema: Task, handle: async () => ({ description: 1 }) });
      expect(await bus.request('uirl.test', makeTask(), 1_000, Task)).toMatchObject({
        ok: false,
        error: { code: 'bad_reply', message: expect.stringContaining('description') },
      });
    });

    it('turns what went wrong into codes', async () => {
      bus.respond({
        subject: 'uirl.test',
        schema: Task,
        handle: async (task) => {
          if (task.description === 'full') return failure('capacity', 'all pages are taken');
          if (task.description === 'slow') await new Promise((resolve) => setTimeout(resolve, 500));
          throw new Error('broken');
        },
      });
      const code = async (subject: string, description: string) => {
        const reply = await bus.request(subject, { description }, 200);
        return reply.ok ? 'ok' : reply.error.code;
      };
      expect(await code('uirl.test', 'full')).toBe('capacity');
      expect(await code('uirl.test', 'slow')).toBe('timeout');
      expect(await code('uirl.test', 'other')).toBe('internal');
      expect(await code('uirl.nobody', 'other')).toBe('no_responders');
      expect(await code('uirl.test', 'x'.repeat(9 * 1024 * 1024))).toBe('too_large');
    });

    it('waits for a service that is not there yet, where asked to', async () => {
      const asked = bus.request('uirl.late', makeTask(), 1_000, undefined, { retryForMs: 5_000 });
      await new Promise((resolve) => setTimeout(resolve, 300));
      bus.respond({ subject: 'uirl.late', schema: Task, handle: async () => ({ here: true }) });
      expect(await asked).toEqual({ ok: true, value: { here: true } });
    });
  });

  describe('buckets', () => {
    it('updates by revision and tells who was first', async () => {
      const revision = await bus.runsBucket.create('a.b', { n: 1 });
      expect(await bus.runsBucket.create('a.b', { n: 2 })).toBeNull();
      expect(await bus.runsBucket.update('a.b', { n: 3 }, revision ?? 0)).toBeGreaterThan(revision ?? 0);
      expect(await bus.runsBucket.update('a.b', { n: 4 }, revision ?? 0)).toBeNull();
      expect((await bus.runsBucket.get('a.b'))?.value).toEqual({ n: 3 });
      await bus.runsBucket.delete('a.b');
      expect(await bus.runsBucket.get('a.b')).toBeNull();
      expect(await bus.runsBucket.create('a.b', { n: 5 })).not.toBeNull();
    });

    it('loses no change of many writers', async () => {
      const add = async () => {
        await bus.runsBucket.change<{ n: number }>('count', (current) => ({ n: (current?.n ?? 0) + 1 }));
      };
      await Promise.all(Array.from({ length: 10 }, add));
      expect((await bus.runsBucket.get<{ n: number }>('count'))?.value.n).toBe(10);
    });

    it('keeps each content once', async () => {
      const bytes = Buffer.alloc(300_000, 7);
      const hash = createHash('sha256').update(bytes).digest('hex');
      const other = await connect('other');
      expect(await Promise.all([bus.blobs.put(bytes), bus.blobs.put(bytes), other.blobs.put(bytes)])).toEqual(
        [hash, hash, hash],
      );
      expect(Buffer.from((await other.blobs.get(hash)) ?? []).equals(bytes)).toBe(true);
      expect(await bus.blobs.get('0'.repeat(64))).toBeNull();
      await other.close();
    });

    it('keeps files by name', async () => {
      await bus.checkpoints.put('run/000080/state.json', Buffer.from('{}'));
      await bus.checkpoints.put('other/000080/state.json', Buffer.from('{}'));
      expect(await bus.checkpoints.list('run/')).toEqual([{ name: 'run/000080/state.json', sizeBytes: 2 }]);
      expect(Buffer.from((await bus.checkpoints.get('run/000080/state.json')) ?? []).toString()).toBe('{}');
    });

    it('leads a run through its phases and lets none leave its end', async () => {
      const controller = new AbortController();
      const opened: string[] = [];
      const watching = (async () => {
        for await (const run of bus.runs.watchOpen(undefined, controller.signal))
          opened.push(run.record.runId);
      })();
      await bus.runs.create({ runId: 'a', createdAt: 'now', config: { x: 1 } });
      await bus.runs.create({ runId: 'a', createdAt: 'now', config: { x: 1 } });
      await expect(bus.runs.create({ runId: 'a', createdAt: 'later', config: {} })).rejects.toThrow(
        /there is a run a already/,
      );
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
  });

  describe('faults', () => {
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

      await nats.kill();
      const meanwhile = bus.publishJson(
        subjects.task('run'),
        makeTask({ description: 'meanwhile' }),
        'meanwhile',
      );
      const asked = bus.request('uirl.test', makeTask(), 1_000, undefined, {
        retryForMs: 20_000,
        retryTimeouts: true,
      });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
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
      const hash = await bus.blobs.put(Buffer.from('pixels'));
      await nats.kill();
      nats.loseStore();
      await nats.launch();
      await bus.publishJson(subjects.task('run'), makeTask({ description: 'after' }), 'after');
      await bus.runsBucket.put('run.policy', { version: 2 });
      await bus.blobs.put(Buffer.from('pixels'));
      expect(Buffer.from((await bus.blobs.get(hash)) ?? []).toString()).toBe('pixels');
      await eventually('the task', () => seen.length === 1, 30_000);
    });

    it('waits for a broker that is not there yet', async () => {
      const proxy = await FaultyProxy.start(nats.port);
      proxy.cut(true);
      const connecting = connect('early', proxy.port);
      await new Promise((resolve) => setTimeout(resolve, 700));
      proxy.heal();
      const early = await connecting;
      expect(await early.runsBucket.get('nothing')).toBeNull();
      await early.close();
      await proxy.stop();
    });

    it('recovers from a network that swallows everything', async () => {
      const proxy = await FaultyProxy.start(nats.port);
      const far = await connect('far', proxy.port);
      const seen: string[] = [];
      await far.consume({
        stream: STREAMS.tasks,
        durable: 'loader',
        subject: subjects.task('*'),
        handle: async (task: Task) => {
          seen.push(task.description);
        },
      });
      proxy.blackhole(true);
      await bus.publishJson(subjects.task('run'), makeTask({ description: 'lost' }), 'lost');
      await new Promise((resolve) => setTimeout(resolve, 500));
      proxy.heal();
      proxy.cut();
      await bus.publishJson(subjects.task('run'), makeTask({ description: 'next' }), 'next');
      await eventually('the next task', () => seen.includes('next'));
      await far.close();
      await proxy.stop();
    });
  });

  it('counts an attempt in which the process died, and gives up after the last', async () => {
    const options = {
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('*'),
      ackWaitMs: 300,
      maxDeliver: 2,
    };
    let started = 0;
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const dying = await connect(`dying${attempt}`);
      await dying.consume({
        ...options,
        handle: async () => {
          started += 1;
          // Never ends; the connection goes as it does when a process is killed.
          await dying.connection.close();
          await new Promise(() => undefined);
        },
      });
      if (attempt === 1) await bus.publishJson(subjects.task('run'), makeTask(), 'one');
      await eventually('an attempt', () => started === attempt);
    }
    let givenUp = 0;
    await bus.consume({
      ...options,
      handle: async () => {
        throw new Error('no third attempt');
      },
      exhausted: async () => {
        givenUp += 1;
      },
    });
    await eventually('giving up', () => givenUp === 1);
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

async function pending(bus: BusService, stream: string): Promise<number> {
  const reply = await bus.connection.request(`$JS.API.STREAM.INFO.${stream}`, '');
  return reply.json<{ state: { messages: number } }>().state.messages;
}
