import { hostname } from 'node:os';
import { Injectable, Logger, Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import { runKeys, ServingReply, ServingRequest, STREAMS, subjects } from '@ui-rl/contracts';
import { PluginError } from '@ui-rl/plugin-kit';
import { aborted } from '@ui-rl/retry';
import { eventually, startNats, type NatsServer } from '@ui-rl/testkit';
import { decideOnUnservedRuns, openApplication, RunService, type ServedRun } from './index';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let served: BusService;
let app: INestApplicationContext | undefined;
let runs = 0;
/** The service's actions, in order. */
let log: string[];
const events: RunEvent[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  decideOnUnservedRuns(bus);
  await bus.consume<RunEvent>({
    stream: STREAMS.events,
    durable: 'test',
    subject: subjects.event('*', '*'),
    handle: async (event) => void events.push(event),
  });
});

beforeEach(() => (log = []));

afterEach(async () => {
  await quit();
  for (let run = 1; run <= runs; run++) await bus.runs.changePhase(`run-${run}`, 'stopped');
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

/** The course of a run; by default it is served until the end of its signal. */
type Behaviour = (run: string, attempt: number) => ServedRun['work'];

async function begin(behaviour: Behaviour, oneAtATime = false): Promise<void> {
  const attempts = new Map<string, number>();

  @Injectable()
  class TestService extends RunService {
    constructor(own: BusService) {
      super(own, { oneAtATime });
    }

    protected async prepare({ record: { runId } }: RunSnapshot): Promise<ServedRun> {
      const attempt = (attempts.get(runId) ?? 0) + 1;
      attempts.set(runId, attempt);
      log.push(`prepare ${runId}`);
      const work = behaviour(runId, attempt);
      return { work, close: async () => void log.push(`close ${runId}`) };
    }
  }

  @Module({})
  class TestModule {}
  const module: DynamicModule = { module: TestModule, providers: [TestService] };
  served = await BusService.connect({ service: 'worker', servers: [nats.url] });
  app = await openApplication(served, module);
}

async function quit(): Promise<void> {
  await app?.close();
  await served.close();
  app = undefined;
}

async function createRun(): Promise<string> {
  const runId = `run-${(runs += 1)}`;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} });
  return runId;
}

/** Ends a run, then reverts that like a broker with an older store. */
async function endsAndComesBack(runId: string): Promise<void> {
  await bus.runs.changePhase(runId, 'finished');
  // The watcher on the service's connection has received it.
  await served.runs.untilOver(runId);
  await bus.runsBucket.put(runKeys.state(runId), { phase: 'training', since: new Date().toISOString() });
}

const logged = (line: string) => eventually(line, () => log.includes(line));
const told = (runId: string, type: RunEvent['type'], code?: string) =>
  events.filter(
    (event) =>
      event.runId === runId &&
      event.type === type &&
      (code === undefined || (event as { code?: string }).code === code),
  );

it('serves every run that has not ended, told when it is ready, and closes each when its work is done', async () => {
  const [first, second] = [await createRun(), await createRun()];
  let finish: () => void = () => undefined;
  const done = new Promise<void>((resolve) => (finish = resolve));
  await begin((run) => (run === first ? () => done : aborted));
  await logged(`prepare ${second}`);
  await eventually(
    'both ready',
    () => told(first, 'service_ready').length + told(second, 'service_ready').length === 2,
  );
  finish();
  await logged(`close ${first}`);
  expect(log).not.toContain(`close ${second}`);
  await quit();
  expect(log).toContain(`close ${second}`);
});

it('ends a run by whose fault it cannot be served', async () => {
  const runId = await createRun();
  await begin(() => {
    throw new PluginError('option', 'there is no such reward');
  });
  const state = await eventually('the end', async () => {
    const found = await bus.runs.state(runId);
    return found?.phase === 'failed' ? found : null;
  });
  expect(state.reason).toBe('there is no such reward');
  expect(log).toEqual([`prepare ${runId}`]);
});

it('leaves a run to others that it cannot serve itself, and says which host is set up wrongly', async () => {
  const runId = await createRun();
  const other = bus.respond({
    subject: subjects.serving('worker', runId),
    schema: ServingRequest,
    handle: async () => ({ instance: 'another' }),
  });
  await begin(() => {
    throw new PluginError('unknown', 'no reward is named "mine"');
  });
  const [warning] = await eventually('the warning', () => {
    const found = told(runId, 'warning', 'misconfigured');
    return found.length > 0 ? found : null;
  });
  expect(warning).toMatchObject({
    service: 'worker',
    message: `the worker on ${hostname()} cannot serve this run: no reward is named "mine"`,
  });
  await quit();
  await other.stop();
  expect((await bus.runs.state(runId))?.phase).toBe('baseline');
});

it('never fails a run that was served before, for any fault of this host', async () => {
  const runId = await createRun();
  await begin(() => aborted);
  await eventually('ready', () => told(runId, 'service_ready').length === 1);
  await quit();
  await begin(() => {
    throw new PluginError('unknown', 'no reward is named "mine"');
  });
  await eventually('the warning', () => told(runId, 'warning', 'misconfigured').length === 1);
  await quit();
  expect((await bus.runs.state(runId))?.phase).toBe('baseline');
});

it('serves a run again where that failed by no fault of the run, and warns once', async () => {
  const runId = await createRun();
  await begin((_, attempt) =>
    attempt > 1
      ? aborted
      : async () => {
          throw new Error('the disk was full');
        },
  );
  await eventually('the second attempt', () => log.length >= 3);
  expect(log).toEqual([`prepare ${runId}`, `close ${runId}`, `prepare ${runId}`]);
  const [warning, ...more] = told(runId, 'warning');
  expect(warning).toMatchObject({
    service: 'worker',
    code: 'failure',
    message: expect.stringContaining('the disk was full'),
  });
  expect(more).toEqual([]);
});

it('does not try again what failed once the run is over', async () => {
  const runId = await createRun();
  await begin(() => async () => {
    await bus.runs.changePhase(runId, 'stopped');
    throw new Error('the disk was full');
  });
  await logged(`close ${runId}`);
  await eventually('the end', () => told(runId, 'phase').length === 2);
  expect(told(runId, 'warning')).toEqual([]);
});

it('never serves a run twice at once whose end the broker no longer knows', async () => {
  const runId = await createRun();
  await begin(() => aborted);
  await logged(`prepare ${runId}`);
  await endsAndComesBack(runId);
  await eventually('the second time', () => log.length === 3);
  expect(log).toEqual([`prepare ${runId}`, `close ${runId}`, `prepare ${runId}`]);
  const reply = await bus.request(subjects.serving('worker', runId), { runId }, 3_000, ServingReply);
  expect(reply.ok).toBe(true);
});

it('says on request how its process does, to all that ask who serves a run', async () => {
  const runId = await createRun();
  await begin(() => aborted);
  await logged(`prepare ${runId}`);
  const other = bus.respond({
    subject: subjects.serving('worker', runId),
    schema: ServingRequest,
    handle: async () => ({ instance: 'another' }),
  });
  const broken = bus.respond({
    subject: subjects.serving('worker', runId),
    schema: ServingRequest,
    handle: async () => ({ instance: 7 }),
  });
  const subject = subjects.serving('worker', runId);
  const { found, own } = await eventually('a measured process', async () => {
    const all = await bus.gather(subject, { runId, withProcess: true }, 3_000, ServingReply);
    const one = all.find(({ instance }) => instance === served.instance);
    return (one?.process?.cpuCores ?? 0) > 0 ? { found: all, own: one } : null;
  });
  expect(found).toHaveLength(2);
  expect(own?.process).toMatchObject({
    host: hostname(),
    pid: process.pid,
    machineCores: expect.any(Number),
  });
  expect(own?.process?.memoryBytes).toBeGreaterThan(1e6);
  expect(await bus.gather(subject, { runId }, 3_000, ServingReply)).toContainEqual({
    instance: served.instance,
  });
  expect(await bus.gather(subjects.serving('absent', runId), { runId }, 3_000, ServingReply)).toEqual([]);
  await Promise.all([other.stop(), broken.stop()]);
});

describe('a service for one run at a time', () => {
  it('begins with the run that was created first, also where it comes after both, and tells the others', async () => {
    const first = await createRun();
    const [second, third] = [await createRun(), await createRun()];
    // Its state is written after those of the others.
    await bus.runs.changePhase(first, 'training');
    await begin(() => aborted, true);
    await logged(`prepare ${first}`);
    for (const waiting of [second, third]) {
      const [warning] = await eventually('a warning', () => {
        const found = told(waiting, 'warning', 'waiting');
        return found.length > 0 ? found : null;
      });
      expect(warning).toMatchObject({
        message: expect.stringContaining(`waits for the end of run ${first}`),
      });
    }
    expect(log).toEqual([`prepare ${first}`]);
    await bus.runs.changePhase(first, 'finished');
    await logged(`prepare ${second}`);
    await bus.runs.changePhase(second, 'finished');
    await logged(`prepare ${third}`);
  });

  it('tells a run that comes meanwhile to wait, and serves the first one on until the second begins', async () => {
    const first = await createRun();
    await begin(() => aborted, true);
    await logged(`prepare ${first}`);
    const second = await createRun();
    const [warning] = await eventually('the warning', () => {
      const found = told(second, 'warning', 'waiting');
      return found.length > 0 ? found : null;
    });
    expect(warning).toMatchObject({
      message: `the worker serves one run at a time: this one waits for the end of run ${first}`,
    });
    expect(log).toEqual([`prepare ${first}`]);
    await bus.runs.changePhase(first, 'finished');
    await logged(`prepare ${second}`);
    expect(log).toEqual([`prepare ${first}`, `close ${first}`, `prepare ${second}`]);
    await bus.runs.changePhase(second, 'finished');
    const third = await createRun();
    await logged(`prepare ${third}`);
    expect(told(third, 'warning')).toEqual([]);
  });

  it('leaves out a run that ended while it waited', async () => {
    const first = await createRun();
    await begin(() => aborted, true);
    await logged(`prepare ${first}`);
    const second = await createRun();
    await eventually('the warning', () => told(second, 'warning').length > 0);
    await bus.runs.changePhase(second, 'stopped');
    await bus.runs.changePhase(first, 'finished');
    const third = await createRun();
    await logged(`prepare ${third}`);
    expect(log).toEqual([`prepare ${first}`, `close ${first}`, `prepare ${third}`]);
  });

  it('ends and begins again a run whose end the broker no longer knows', async () => {
    const runId = await createRun();
    await begin(() => aborted, true);
    await logged(`prepare ${runId}`);
    await endsAndComesBack(runId);
    await eventually('the second time', () => log.length === 3);
    expect(log).toEqual([`prepare ${runId}`, `close ${runId}`, `prepare ${runId}`]);
    expect(told(runId, 'warning')).toEqual([]);
  });

  it('stops while a run waits', async () => {
    const first = await createRun();
    await begin(() => aborted, true);
    await logged(`prepare ${first}`);
    const second = await createRun();
    await eventually('the warning', () => told(second, 'warning').length > 0);
    await quit();
    expect(log).toEqual([`prepare ${first}`, `close ${first}`]);
  });
});
