import { AckPolicy, DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { RolloutRequest, STREAMS, subjects, Task } from '@ui-rl/contracts';
import { aborted, RETRIES } from '@ui-rl/retry';
import { drained, eventually, makeRollout, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, type DeadLetter } from './index';

Logger.overrideLogger(false);

describe('streams and durable consumers', () => {
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
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const options = {
      stream: STREAMS.rollouts,
      durable: 'actors',
      subject: subjects.rollout('*', '*'),
      schema: RolloutRequest,
      concurrency: 2,
      handle: async (message: RolloutRequest) => {
        running += 1;
        most = Math.max(most, running);
        await released;
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
    await eventually('work in every slot of both', () => running === 4);
    release();
    await drained(bus, STREAMS.rollouts, 'actors');
    await other.close();
    expect(new Set(seen).size).toBe(20);
    expect(seen).toHaveLength(20);
    expect(most).toBe(4);
  });

  it('keeps more places busy than the broker would by itself, also those of a consumer that it has of before', async () => {
    const places = 1_100;
    const jsm = await jetstreamManager(bus.connection);
    const durable = { ack_policy: AckPolicy.Explicit, deliver_policy: DeliverPolicy.All };
    await jsm.consumers.add(STREAMS.tasks, {
      ...{ durable_name: 'older', filter_subject: subjects.task('older') },
      ...durable,
    });
    const running = { new: 0, older: 0 };
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const readAs = (name: 'new' | 'older', concurrency: number) =>
      bus.consume({
        stream: STREAMS.tasks,
        durable: name,
        subject: subjects.task(name),
        concurrency,
        handle: async () => {
          running[name] += 1;
          await released;
        },
      });
    await readAs('new', places);
    await readAs('older', 2);
    const { num_waiting } = await eventually(
      'a pull of every place',
      async () => {
        const info = await jsm.consumers.info(STREAMS.tasks, 'new');
        return info.num_waiting >= places ? info : null;
      },
      30_000,
    );
    expect(num_waiting).toBe(places);
    await Promise.all(
      Array.from({ length: places }, (_, index) => bus.publishJson(subjects.task('new'), {}, `n${index}`)),
    );
    await bus.publishJson(subjects.task('older'), {}, 'older');
    const isBusy = () => running.new === places && running.older === 1;
    await eventually('work in every place', isBusy, 30_000);
    const { config } = await jsm.consumers.info(STREAMS.tasks, 'older');
    expect(config.max_ack_pending).toBeGreaterThan(places);
    release();
    await drained(bus, STREAMS.tasks, 'new', 30_000);
  }, 100_000);

  it('believes a message no further than its subject: who may only warn reports no step', async () => {
    const handled: string[] = [];
    await bus.consume<{ type: string }>({
      stream: STREAMS.events,
      durable: 'reader',
      subject: subjects.event('*', '*'),
      handle: async ({ type }) => void handled.push(type),
    });
    const forged = { type: 'train_step', runId: 'run', step: 1e9 };
    await bus.publishJson(subjects.event('run', 'warning'), forged, 'forged');
    await bus.publishJson(subjects.event('run', 'phase'), { type: 'phase', runId: 'run' }, 'true');
    await drained(bus, STREAMS.events, 'reader');
    expect(handled).toEqual(['phase', 'dead_letter']);
    const [key] = await bus.deadLetterBucket.keys();
    expect((await bus.deadLetterBucket.get<DeadLetter>(key))?.value.reason).toBe(
      'type: is "train_step", but it came on uirl.event.run.warning',
    );
  });

  it('retries a failed message and marks the last attempt, then calls the exhausted handler', async () => {
    const deliveries: [number, boolean][] = [];
    let exhaustedError: unknown;
    await bus.consume({
      stream: STREAMS.rollouts,
      durable: 'actors',
      subject: subjects.rollout('*', '*'),
      schema: RolloutRequest,
      retry: { firstMs: 20, maxMs: 1_000, attempts: 3 },
      handle: async (_, context) => {
        deliveries.push([context.delivery, context.lastAttempt]);
        throw new Error('the browser is on fire');
      },
      exhausted: async (_, context) => {
        exhaustedError = context.error;
      },
    });
    await bus.publishJson(subjects.rollout('run', 'train'), makeRollout(), 'one');
    await eventually('the exhausted handler', () => exhaustedError);
    expect(deliveries).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(exhaustedError).toMatchObject({ message: 'the browser is on fire' });
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
    await eventually('an empty queue', async () => (await pending(bus, STREAMS.tasks)) === 0);
    expect(calls).toBe(1);
  });

  it('gives back what it handles when it stops: the next one has it at once, and once', async () => {
    const [first, second] = [await connect('first'), await connect('second')];
    const seen: string[] = [];
    const options = {
      stream: STREAMS.tasks,
      durable: 'held',
      subject: subjects.task('run'),
      schema: Task,
      concurrency: 8,
      ackWaitMs: 60_000,
    };
    const holding = await first.consume({
      ...options,
      handle: async ({ description }: Task, { signal }) => {
        seen.push(description);
        await aborted(signal);
        throw new Error('not done');
      },
    });
    for (const description of ['a', 'b', 'c']) {
      await bus.publishJson(subjects.task('run'), { description }, description);
    }
    await eventually('all of them to be handled', () => seen.length === 3);
    await holding.stop();
    seen.length = 0;
    await second.consume({
      ...options,
      handle: async ({ description }: Task) => void seen.push(description),
    });
    await drained(bus, STREAMS.tasks, 'held', 5_000);
    expect(seen.toSorted()).toEqual(['a', 'b', 'c']);
    await Promise.all([first.close(), second.close()]);
  });

  it('handles a message once that comes again because the process stood still, and keeps the slot for others', async () => {
    const handled: unknown[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await bus.consume<{ description: string }>({
      stream: STREAMS.tasks,
      durable: 'halting',
      subject: subjects.task('*'),
      ackWaitMs: 300,
      concurrency: 2,
      handle: async ({ description }) => {
        handled.push(description);
        if (description !== 'first') return;
        // Blocks the event loop, so that no heartbeat is sent.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
        await released;
      },
    });
    await bus.publishJson(subjects.task('run'), { description: 'first' }, 'first');
    await eventually('the second delivery', async () => (await deliveries(bus, 'halting')) >= 2);
    await bus.publishJson(subjects.task('run'), { description: 'second' }, 'second');
    await eventually('the other message', () => handled.includes('second'));
    release();
    await eventually('an empty queue', async () => (await pending(bus, STREAMS.tasks)) === 0);
    expect(handled).toEqual(['first', 'second']);
  });

  it.each([
    ['no JSON', '{"description":', /not JSON/],
    [
      'no text',
      '{"description":"","maxSteps":0}',
      /description: should not be empty, found ""; maxSteps: .*found 0/,
    ],
    ['no object', '[1]', /expected an object, found an array of 1/],
  ])('makes a dead letter of a message that is %s, and stays up', async (_, payload, reason) => {
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
    const key = await eventually('the record', async () => (await bus.deadLetterBucket.keys())[0]);
    const record = (await bus.deadLetterBucket.get<DeadLetter>(key))?.value;
    expect(record).toMatchObject({ service: 'test', subject: 'uirl.task.run', payload, encoding: 'utf8' });
    expect(record?.reason).toMatch(reason);
    expect(handled).toEqual(['good']);
    expect(await pending(bus, STREAMS.events)).toBe(1);
    await eventually('an empty queue', async () => (await pending(bus, STREAMS.tasks)) === 0);
  });

  it('says what is too large, and for whom', async () => {
    const large = { description: 'x'.repeat(65 * 1024 * 1024) };
    await expect(bus.publishJson(subjects.task('run'), large, 'large')).rejects.toThrow(
      /message of 68157\d+ bytes for uirl\.task\.run, expected at most 67108864 bytes/,
    );
  });

  it('counts an attempt in which the process died, and calls the exhausted handler after the last', async () => {
    const options = {
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('*'),
      ackWaitMs: 300,
      retry: { ...RETRIES.redelivery, attempts: 2 },
    };
    let started = 0;
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const dying = await connect(`dying${attempt}`);
      await dying.consume({
        ...options,
        handle: async () => {
          started += 1;
          // Never ends; the connection drops as when a process is killed.
          await dying.connection.close();
          await new Promise(() => undefined);
        },
      });
      if (attempt === 1) await bus.publishJson(subjects.task('run'), makeTask(), 'one');
      await eventually('an attempt', () => started === attempt);
    }
    let exhaustedCalls = 0;
    await bus.consume({
      ...options,
      handle: async () => {
        started += 1;
      },
      exhausted: async () => {
        exhaustedCalls += 1;
      },
    });
    await eventually('the exhausted handler', () => exhaustedCalls > 0);
    await drained(bus, STREAMS.tasks, 'loader');
    expect({ started, exhaustedCalls }).toEqual({ started: 2, exhaustedCalls: 1 });
  });
});

async function pending(bus: BusService, stream: string): Promise<number> {
  const reply = await bus.connection.request(`$JS.API.STREAM.INFO.${stream}`, '');
  return reply.json<{ state: { messages: number } }>().state.messages;
}

/** Number of deliveries to a consumer of the tasks, including redeliveries. */
async function deliveries(bus: BusService, durable: string): Promise<number> {
  const reply = await bus.connection.request(`$JS.API.CONSUMER.INFO.${STREAMS.tasks}.${durable}`, '');
  return reply.json<{ delivered: { consumer_seq: number } }>().delivered.consumer_seq;
}
