import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import { STREAMS, subjects, type Purpose } from '@ui-rl/contracts';
import { drained, eventually, makeRollout, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, type Consumption, type DeadLetter } from './index';

Logger.overrideLogger(false);

const EVERY = { everyMs: 50 };

describe('the remains of runs', () => {
  let nats: NatsServer;
  let bus: BusService;
  let jsm: JetStreamManager;

  beforeEach(async () => {
    nats = await startNats();
    bus = await BusService.connect({ service: 'test', servers: [nats.url] });
    jsm = await jetstreamManager(bus.connection);
  });

  afterEach(async () => {
    await bus.close();
    await nats.stop();
  });

  async function createRuns(...runIds: string[]): Promise<void> {
    for (const runId of runIds)
      await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
  }

  const read = (
    stream: string,
    durable: string,
    subject: string,
    into: unknown[] = [],
  ): Promise<Consumption> =>
    bus.consume({ stream, durable, subject, handle: async (message) => void into.push(message) });

  const messages = async (stream: string, filter: string): Promise<number> => {
    const { state } = await jsm.streams.info(stream, { subjects_filter: filter });
    return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
  };

  const consumers = async (): Promise<string[]> => {
    const names: string[] = [];
    for (const stream of [STREAMS.rollouts, STREAMS.tasks, STREAMS.trajectories, STREAMS.events]) {
      for await (const { name } of jsm.consumers.list(stream)) names.push(name);
    }
    return names.toSorted();
  };

  it('removes consumers without a reader and queued messages at the end of a run; leaves those of other runs', async () => {
    await createRuns('over', 'open');
    const readers: Consumption[] = [];
    for (const run of ['over', 'open']) {
      readers.push(
        await read(STREAMS.rollouts, `actors-${run}`, subjects.rollout(run, '*')),
        await read(STREAMS.tasks, `task-loader-${run}`, subjects.task(run)),
        await read(STREAMS.trajectories, `learner-${run}`, subjects.trajectory(run, 'train')),
        await read(STREAMS.events, `trackers-${run}`, subjects.event(run, 'evaluation')),
      );
    }
    readers.push(await read(STREAMS.events, 'monitor-events', subjects.event('*', '*')));
    // The learner of an ended run continues until the next one begins.
    const served = await read(
      STREAMS.trajectories,
      'evaluator-over-eval',
      subjects.trajectory('over', 'eval'),
    );
    await Promise.all(readers.map((reader) => reader.stop()));
    for (const run of ['over', 'open']) {
      await bus.publishJson(subjects.task(run), makeTask({ description: `of ${run}` }), run);
      for (const purpose of ['train', 'eval'] satisfies Purpose[]) {
        await bus.publishJson(
          subjects.rollout(run, purpose),
          makeRollout({ runId: run }),
          `${run}-${purpose}`,
        );
      }
    }
    await bus.runs.changePhase('over', 'stopped');
    bus.keepHouse(EVERY);
    await eventually('an end of four consumers', async () => (await consumers()).length <= 6);
    const left = ['actors-open', 'learner-open', 'monitor-events', 'task-loader-open', 'trackers-open'];
    expect(await consumers()).toEqual([...left, 'evaluator-over-eval'].toSorted());
    expect(await messages(STREAMS.rollouts, subjects.rollout('over', '*'))).toBe(0);
    expect(await messages(STREAMS.tasks, subjects.task('over'))).toBe(0);
    expect(await messages(STREAMS.rollouts, subjects.rollout('open', '*'))).toBe(2);
    expect(await messages(STREAMS.tasks, subjects.task('open'))).toBe(1);
    const [key] = await bus.deadLetterBucket.keys('test.TASKS.*');
    const letter = (await bus.deadLetterBucket.get<DeadLetter>(key))?.value;
    expect(letter).toMatchObject({
      reason: 'run over has ended (stopped): nothing is played for it any more',
    });
    expect(JSON.parse(letter?.payload ?? '')).toMatchObject({ description: 'of over' });
    await served.stop();
    await eventually('its end, too', async () => !(await consumers()).includes('evaluator-over-eval'));
  });

  it('tells the end of a run once where the process died that ended it', async () => {
    await createRuns('cut', 'told');
    const at = new Date().toISOString();
    await bus.runsBucket.put('cut.state', { phase: 'failed', since: at, reason: 'no such model' });
    await bus.runs.changePhase('told', 'stopped');
    const phases: unknown[] = [];
    await read(STREAMS.events, 'phases', subjects.event('*', 'phase'), phases);
    bus.keepHouse(EVERY);
    const end = { type: 'phase', runId: 'cut', phase: 'failed', reason: 'no such model', at };
    await eventually('the end', () => phases.length >= 4);
    await drained(bus, STREAMS.events, 'phases');
    expect(phases.slice(3)).toEqual([end]);
  });

  it('makes the room in a full stream of events that telling an end needs', async () => {
    await createRuns('cut', 'over');
    const at = new Date().toISOString();
    await bus.runsBucket.put('cut.state', { phase: 'failed', since: at });
    for (let index = 0; index < 10; index += 1) {
      const warning = { runId: 'over', code: 'long', message: 'x'.repeat(4_000) };
      await bus.publishJson(subjects.event('over', 'warning'), { type: 'warning', ...warning }, `${index}`);
    }
    await bus.runs.changePhase('over', 'finished');
    const { bytes } = (await jsm.streams.info(STREAMS.events)).state;
    await jsm.streams.update(STREAMS.events, { max_bytes: bytes + 50 });
    bus.keepHouse(EVERY);
    const told = async () => {
      const last = { last_by_subj: subjects.event('cut', 'phase') };
      return (await jsm.streams.getMessage(STREAMS.events, last))?.string().includes('failed');
    };
    await eventually('the end', told);
    expect(await messages(STREAMS.events, subjects.event('over', 'warning'))).toBeLessThan(10);
  });

  it('a log that fills up keeps the newest steps of an open run: a task-loader that was away has still to learn from them', async () => {
    await createRuns('over', 'open');
    const steps = Array.from({ length: 150 }, (_, index) => index + 1);
    for (const run of ['over', 'open']) {
      for (const step of steps) {
        const event = { type: 'train_step', runId: run, step, rolloutIds: [], metrics: {} };
        await bus.publishJson(subjects.event(run, 'train_step'), event, `${run}-${step}`);
      }
    }
    await bus.runs.changePhase('over', 'finished');
    const { bytes } = (await jsm.streams.info(STREAMS.events)).state;
    await jsm.streams.update(STREAMS.events, { max_bytes: Math.ceil(bytes / 1.5) });
    bus.keepHouse(EVERY);
    const of = (run: string) => messages(STREAMS.events, subjects.event(run, 'train_step'));
    await eventually('room', async () => (await of('open')) < steps.length);
    expect(await of('over')).toBe(0);
    const left: { step: number }[] = [];
    await read(STREAMS.events, 'loader', subjects.event('open', 'train_step'), left);
    await drained(bus, STREAMS.events, 'loader');
    expect(left.map(({ step }) => step)).toEqual(steps.slice(-100));
  });

  it('a consumer of one process alone goes when it stops, or with the process', async () => {
    const own = await bus.consume({
      stream: STREAMS.events,
      durable: 'cli-events',
      temporary: true,
      subject: subjects.event('run', '*'),
      handle: async () => undefined,
    });
    const [{ config }] = await jsm.consumers.list(STREAMS.events).next();
    expect(config.inactive_threshold).toBe(600 * 1e9);
    await own.stop();
    expect(await consumers()).toEqual([]);
  });

  it('a queue that one run fills has room for others', async () => {
    await jsm.streams.update(STREAMS.tasks, { max_msgs_per_subject: 2 });
    const publish = (run: string, id: string) => bus.publishJson(subjects.task(run), makeTask(), id);
    for (const id of ['a', 'b']) await publish('greedy', id);
    let third = false;
    const waiting = publish('greedy', 'c').then(() => (third = true));
    await publish('modest', 'd');
    expect(third).toBe(false);
    await read(STREAMS.tasks, 'loader', subjects.task('greedy'));
    await waiting;
    await drained(bus, STREAMS.tasks, 'loader');
  });

  it('a log that fills up loses what everybody has read, of ended runs first, and waits with the rest', async () => {
    await createRuns('over', 'fast', 'slow');
    await jsm.streams.update(STREAMS.trajectories, { max_bytes: 100_000 });
    const send = (run: string, index: number) =>
      bus.publishJson(
        subjects.trajectory(run, 'train'),
        { request: { runId: run, purpose: 'train' }, at: index, text: 'x'.repeat(4_000) },
        `${run}-${index}`,
      );
    const slow: { at: number }[] = [];
    const reading = await read(
      STREAMS.trajectories,
      'learner-slow',
      subjects.trajectory('slow', 'train'),
      slow,
    );
    await reading.stop();
    for (const run of ['over', 'fast']) {
      await read(STREAMS.trajectories, `learner-${run}`, subjects.trajectory(run, 'train'));
      for (let index = 0; index < 5; index += 1) await send(run, index);
      await drained(bus, STREAMS.trajectories, `learner-${run}`);
    }
    await bus.runs.changePhase('over', 'finished');
    const of = (run: string) => messages(STREAMS.trajectories, subjects.trajectory(run, 'train'));
    for (let index = 0; index < 10; index += 1) await send('slow', index);
    bus.keepHouse(EVERY);
    await eventually('room', async () => (await of('over')) === 0);
    expect(await of('slow')).toBe(10);
    // These have not been read: the stream fills up, and publishing waits until a consumer reads them.
    let published = 10;
    const waiting = (async () => {
      for (; published < 40; published += 1) await send('slow', published);
    })();
    await eventually('a full stream', async () => {
      const { bytes } = (await jsm.streams.info(STREAMS.trajectories)).state;
      return bytes > 95_000 && (await of('slow')) === published;
    });
    expect(await of('fast')).toBe(0);
    expect(published).toBeLessThan(30);
    await read(STREAMS.trajectories, 'learner-slow', subjects.trajectory('slow', 'train'), slow);
    await waiting;
    await drained(bus, STREAMS.trajectories, 'learner-slow');
    expect(slow.map(({ at }) => at)).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });
});

it('older streams now refuse messages that they used to drop; their sizes stay', async () => {
  const nats = await startNats();
  const connection = await connect({ servers: nats.url });
  const jsm = await jetstreamManager(connection);
  await jsm.streams.add({
    name: STREAMS.trajectories,
    subjects: [subjects.trajectory('*', '*')],
    max_bytes: 123_456,
    max_age: 1e15,
  });
  await jetstream(connection).publish(subjects.trajectory('run', 'train'), '{}');
  const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  const { config, state } = await jsm.streams.info(STREAMS.trajectories);
  expect(config).toMatchObject({ discard: 'new', max_age: 0, max_bytes: 123_456 });
  expect(state.messages).toBe(1);
  const letters = await jsm.streams.info('KV_dead_letters');
  expect(letters.config).toMatchObject({ discard: 'old', max_bytes: 64 * 2 ** 20 });
  await bus.close();
  await connection.close();
  await nats.stop();
});
