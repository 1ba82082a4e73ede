import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { runKeys, type RunCreatedEvent, type RunEvent } from '@ui-rl/contracts';
import { loadRunFile } from '@ui-rl/settings';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { RunObserver } from '../report/run-observer';
import { announceRun, runEnd } from './announce';

Logger.overrideLogger(false);

const TRACKER = `exports.default = {
  kind: 'tracker',
  name: 'remote',
  description: 'Tells a server.',
  options: { account: { type: 'text', description: 'who we are', required: true, secret: true } },
  create: () => ({ log: () => {} }),
};`;

let nats: NatsServer;
let bus: BusService;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'announce-'));
  writeFileSync(join(folder, 'remote.js'), TRACKER);
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

it('tells services the whole run file, and everybody what it means, without its secrets', async () => {
  const { run, registry } = await loadRunFile({
    options: {
      model: { name: 'small' },
      tasks: 'demo_training',
      training: { max_steps: 3 },
      logging: { trackers: { name: 'remote', account: 'me:hush' } },
      plugins: [join(folder, 'remote.js')],
    },
  });
  const events: RunEvent[] = [];
  const ended = runEnd(bus, 'announced', new RunObserver(), (event) => events.push(event));
  await announceRun(bus, 'announced', run, registry);
  await bus.runs.changePhase('announced', 'stopped');
  await ended;
  const jsm = await jetstreamManager(bus.connection);
  for (const stream of ['EVENTS', 'TRAJECTORIES'])
    expect(await jsm.consumers.list(stream).next()).toEqual([]);
  expect((await bus.runs.record('announced'))?.config).toMatchObject({
    training: { max_steps: 3 },
    logging: { trackers: [{ name: 'remote', account: 'me:hush' }] },
  });
  const created = events.find((event): event is RunCreatedEvent => event.type === 'run_created');
  expect(created?.config).toMatchObject({ logging: { trackers: [{ name: 'remote', account: '[hidden]' }] } });
  const logging = created?.configuration?.find(({ path }) => path === 'logging');
  expect(logging?.options).toContainEqual({
    path: 'logging.trackers[0].account',
    doc: 'who we are',
    expected: expect.stringMatching(/text/),
    value: '[hidden]',
    differs: true,
    choice: 'logging.trackers[0]',
  });
  expect(JSON.stringify(events)).not.toContain('hush');
});

it('sees the end of a run whose last event was lost', async () => {
  const runId = 'silent-end';
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} });
  const observer = new RunObserver();
  const events: RunEvent[] = [];
  const ended = runEnd(bus, runId, observer, (event) => events.push(event), 50);
  // As a service leaves it that crashes between writing the state and publishing the event.
  await bus.runsBucket.put(runKeys.state(runId), {
    phase: 'failed',
    since: new Date().toISOString(),
    reason: 'no learner can serve it',
  });
  await ended;
  expect(observer).toMatchObject({ phase: 'failed', failure: 'no learner can serve it' });
  expect(events.at(-1)).toMatchObject({ type: 'phase', phase: 'failed' });
});

describe('a run that is stopped', () => {
  const step = (runId: string, number: number) =>
    bus.event({ type: 'train_step', runId, step: number, rolloutIds: [], metrics: {} }, `step-${number}`);
  const checkpoint = (runId: string, number: number) =>
    bus.event(
      {
        type: 'checkpoint',
        runId,
        step: number,
        name: `uirl://${runId}/${number}`,
        path: '/',
        adapterDigest: 'd',
      },
      `checkpoint-${number}`,
    );
  const begin = async (runId: string, lastCheckpointMs?: number) => {
    await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
    const observer = new RunObserver();
    const stepped = new Promise<void>((resolve) => {
      ended = runEnd(
        bus,
        runId,
        observer,
        (event) => (event.type === 'train_step' ? resolve() : undefined),
        undefined,
        lastCheckpointMs,
      );
    });
    await checkpoint(runId, 0);
    await step(runId, 5);
    await stepped;
    return observer;
  };
  let ended: Promise<void>;

  it('has ended when the checkpoint of its last step is there', async () => {
    const observer = await begin('stopped-in-time');
    await bus.runs.changePhase('stopped-in-time', 'stopped');
    await step('stopped-in-time', 6);
    await checkpoint('stopped-in-time', 6);
    await ended;
    expect(observer.checkpoint).toMatchObject({ step: 6, name: 'uirl://stopped-in-time/6' });
  });

  it('has ended without it where its learner does not answer any more', async () => {
    const observer = await begin('stopped-alone', 100);
    await bus.runs.changePhase('stopped-alone', 'stopped');
    await ended;
    expect(observer.checkpoint).toMatchObject({ step: 0 });
  });
});
