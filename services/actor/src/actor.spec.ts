import { tmpdir } from 'node:os';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { BusService, sha256 } from '@ui-rl/bus';
import {
  BUCKETS,
  EnvCloseRequest,
  EnvOpenRequest,
  EnvStepRequest,
  PolicyActRequest,
  PolicyInfoRequest,
  type ServiceReadyEvent,
  STREAMS,
  subjects,
  Trajectory,
} from '@ui-rl/contracts';
import { decideOnUnservedRuns, openApplication } from '@ui-rl/service';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { drained, eventually, makeRollout, type NatsServer, startNats } from '@ui-rl/testkit';
import { ActorModule } from './actor.module';

Logger.overrideLogger(false);

const RUN = 'actor-service';
const CONFIG = {
  model: { name: 'any', prompt: 'compact' },
  tasks: { source_type: 'demo_training' },
  rollout: { concurrency: 3, max_turns: 2, turn_timeout_ms: 20_000 },
  environment: { deadline_ms: 5_000 },
  training: { max_steps: 1 },
};

let nats: NatsServer;
let components: ComponentRegistry;
let world: BusService;
let actorBus: BusService;
let actor: INestApplicationContext;
const published: Trajectory[] = [];
const seen = new Set<number>();
const active = { now: 0, most: 0 };
/** Awaited by the policy before it answers. */
let think: () => Promise<void> = async () => {};

/**
 * An environment with one screen per step and a policy that clicks, on a separate connection, with everything else
 * that a run needs.
 */
function serveWorld(): void {
  decideOnUnservedRuns(world);
  const frame = (name: string) => {
    const png = new TextEncoder().encode(name);
    return { png, sha256: sha256(png), width: 160, height: 224 };
  };
  world.respond({
    subject: subjects.envOpen('browser'),
    schema: EnvOpenRequest,
    handle: async ({ rolloutId }) => {
      active.now++;
      active.most = Math.max(active.most, active.now);
      return { sessionId: rolloutId, instance: 'one', screenshot: frame('first') };
    },
  });
  world.respond({
    subject: subjects.envStep('one'),
    schema: EnvStepRequest,
    handle: async ({ stepId }) => ({ screenshot: frame(stepId), outcome: 'ok', done: false }),
  });
  world.respond({
    subject: subjects.envClose('one'),
    schema: EnvCloseRequest,
    handle: async () => {
      active.now--;
      return { state: { screen: 'settings' } };
    },
  });
  world.respond({
    subject: subjects.policyAct(RUN),
    schema: PolicyActRequest,
    handle: async ({ images }) => {
      await think();
      return {
        promptTokenIds: [1],
        promptImages: images.map((image) => (typeof image === 'string' ? image : sha256(image))),
        imageTokens: 1,
        tokenIds: [2],
        logprobs: [-0.1],
        text: '{"action":"click","x":1,"y":2}',
        finishReason: 'stop',
        policyVersion: 0,
        adapterDigest: 'base',
      };
    },
  });
  world.respond({
    subject: subjects.policyInfo(RUN),
    schema: PolicyInfoRequest,
    handle: async ({ screenshot }) => ({
      runId: RUN,
      step: 0,
      adapterDigest: 'base',
      engine: {},
      modelImage: screenshot,
    }),
  });
}

beforeAll(async () => {
  components = await loadComponents();
  nats = await startNats();
  const connect = (service: string) => BusService.connect({ service, servers: [nats.url] });
  [world, actorBus] = await Promise.all([connect('world'), connect('actor')]);
  serveWorld();
  await world.consume<Trajectory>({
    stream: STREAMS.trajectories,
    durable: 'test',
    ackWaitMs: 2_000,
    subject: subjects.trajectory(RUN, '*'),
    schema: Trajectory,
    handle: async (trajectory, { streamSequence }) => {
      // A redelivered message, for example after a lost acknowledgement, was published once.
      if (!seen.has(streamSequence)) published.push(trajectory);
      seen.add(streamSequence);
    },
  });
  actor = await openApplication(actorBus, ActorModule.forRoot({ components, cacheDir: tmpdir() }));
  await world.runs.create({ runId: RUN, createdAt: new Date().toISOString(), config: CONFIG });
});

afterAll(async () => {
  await actor.close();
  await actorBus.close();
  await world.close();
  await nats.stop();
});

/** Makes the policy answer `count` requests and withhold the others until it is released. */
function holdAfter(count: number): () => void {
  let answered = 0;
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  think = async () => {
    answered += 1;
    if (answered > count) await released;
  };
  return release;
}

async function ask(rolloutId: string, changes: Parameters<typeof makeRollout>[0] = {}): Promise<void> {
  const request = makeRollout({ rolloutId, runId: RUN, ...changes });
  await world.publishJson(subjects.rollout(RUN, 'train'), request, rolloutId);
}

/** Waits until every rollout has been played and acknowledged, and every trajectory received. */
async function allPlayed(): Promise<void> {
  await drained(world, STREAMS.rollouts, `actors-${RUN}`, 45_000);
  await drained(world, STREAMS.trajectories, 'test');
}

const deadLetterReasons = async () => {
  const keys = await world.deadLetterBucket.keys();
  const entries = await Promise.all(keys.map((key) => world.deadLetterBucket.get<{ reason: string }>(key)));
  return entries.map((entry) => entry?.value.reason).join('\n');
};

test('rollouts are played as many at once as the run allows, and each published once', async () => {
  const release = holdAfter(0);
  await Promise.all(Array.from({ length: 12 }, (_, index) => ask(`r${index}`)));
  await eventually('as many at once as the run allows', () => active.now === 3);
  release();
  await allPlayed();
  expect(published).toHaveLength(12);
  expect(active).toEqual({ now: 0, most: 3 });
  expect(new Set(published.map(({ request }) => request.rolloutId)).size).toBe(12);
  expect(published[0]).toMatchObject({
    status: 'truncated',
    success: true,
    reward: 1,
    rewards: { 'task-success': 1 },
  });
});

test('a paused run finishes its episodes and starts others only when it is continued', async () => {
  published.length = 0;
  const logs = jest.spyOn(actorBus.logger, 'log');
  const release = holdAfter(0);
  await Promise.all(Array.from({ length: 7 }, (_, index) => ask(`pause-${index}`)));
  await eventually('three in progress', () => active.now === 3);
  expect(await world.runs.setPause(RUN, true, 'to look at it')).toBe(true);
  expect(await world.runs.setPause(RUN, true)).toBe(false);
  await eventually('the actor to know', () => logs.mock.calls.flat().includes(`run ${RUN} is paused`));
  release();
  await eventually('the end of those in progress', () => published.length === 3);
  await eventually('the others held back', async () => {
    const readers = await world.runStorage.readers(RUN);
    return readers.some(({ name, inProgress }) => name === `actors-${RUN}` && inProgress === 3);
  });
  expect(active.now).toBe(0);
  expect(await world.runs.setPause(RUN, false)).toBe(true);
  await allPlayed();
  expect(published).toHaveLength(7);
  expect(active.most).toBe(3);
  await expect(world.runs.setPause('none', true)).rejects.toThrow(/no such run/);
});

test('a message that is not a rollout, or is for another run, becomes a dead letter and the next is played', async () => {
  published.length = 0;
  world.connection.publish(subjects.rollout(RUN, 'train'), 'not json');
  world.connection.publish(subjects.rollout(RUN, 'train'), JSON.stringify({ rolloutId: 'r', runId: RUN }));
  await ask('foreign', { runId: 'other-run' });
  await ask('good');
  await eventually('the good one', () => published.length === 1);
  const reasons = await eventually('three dead letters', async () => {
    const text = await deadLetterReasons();
    return text.split('\n').length === 3 ? text : null;
  });
  expect(reasons).toMatch(/not JSON/);
  expect(reasons).toMatch(/task: /);
  expect(reasons).toMatch(/runId: is "other-run", but it came on uirl\.rollout\.actor-service\.train/);
});

test('episodes continue after the broker was killed in the middle of them, none lost and none twice', async () => {
  published.length = 0;
  const release = holdAfter(5);
  await Promise.all(Array.from({ length: 9 }, (_, index) => ask(`kill-${index}`)));
  await eventually('some done and some in the middle', () => published.length > 0 && active.now === 3);
  await nats.kill();
  release();
  await nats.launch();
  await eventually('all of them', () => published.length >= 9, 45_000);
  await allPlayed();
  expect(published.map(({ request }) => request.rolloutId).toSorted()).toEqual(
    Array.from({ length: 9 }, (_, index) => `kill-${index}`),
  );
  expect(published.map(({ status, invalidReason }) => invalidReason ?? status)).toEqual(
    Array.from({ length: 9 }, () => 'truncated'),
  );
}, 120_000);

test('an actor that waits for a run stops on request, and plays no run that comes later', async () => {
  const empty = await startNats();
  const connect = () => BusService.connect({ service: 'actor', servers: [empty.url] });
  const start = (bus: BusService) =>
    openApplication(bus, ActorModule.forRoot({ components, cacheDir: tmpdir() }));
  const [first, second] = [await connect(), await connect()];
  const stopped = await start(first);
  const watches = async () => {
    const reply = await second.connection.request(`$JS.API.CONSUMER.NAMES.KV_${BUCKETS.runs}`, '');
    return reply.json<{ total: number }>().total > 0;
  };
  await eventually('the actor to watch for runs', watches);
  await stopped.close();

  const ready: ServiceReadyEvent[] = [];
  await second.consume<ServiceReadyEvent>({
    stream: STREAMS.events,
    durable: 'ready',
    subject: subjects.event('later', 'service_ready'),
    handle: async (event) => void ready.push(event),
  });
  await second.runs.create({ runId: 'later', createdAt: new Date().toISOString(), config: CONFIG });
  const other = await start(second);
  await eventually('the other actor', () => ready.length > 0);
  await drained(second, STREAMS.events, 'ready');
  expect(ready.map(({ instance }) => instance)).toEqual([second.instance]);

  await other.close();
  await Promise.all([first.close(), second.close()]);
  await empty.stop();
});

test('a run whose options make no sense has failed, and says why', async () => {
  const runId = 'no-such-reward';
  const config = { ...CONFIG, rewards: ['kindness'] };
  await world.runs.create({ runId, createdAt: new Date().toISOString(), config });
  const state = await eventually('the end of the run', async () => {
    const found = await world.runs.state(runId);
    return found?.phase === 'failed' ? found : null;
  });
  expect(state.reason).toMatch(/no reward is named "kindness"/);
});
