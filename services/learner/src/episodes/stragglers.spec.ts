import { setTimeout } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTrajectory, startNats, type NatsServer } from '@ui-rl/testkit';
import { Progress } from '../training/progress';
import { GroupBuffer } from './groups';
import { Stragglers } from './stragglers';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let stopping: AbortController;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'learner', servers: [nats.url] });
});
beforeEach(() => {
  stopping = new AbortController();
});
afterEach(() => stopping.abort());
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

const LEAST_MS = 150;

function world(runId: string, stragglerFactor = 3) {
  const progress = new Progress(runId, { name: 'model' });
  const buffer = new GroupBuffer({ maxAttempts: 3, isSettled: () => false, isHopeless: () => false });
  const options = { stragglerFactor, groupSize: 2, maxAttempts: 3 };
  const parts = { runId, bus, options, buffer, progress, isOver: () => false };
  const stragglers = new Stragglers(parts, 20, LEAST_MS);
  const rollout = (groupIndex: number, indexInGroup: number): RolloutRequest =>
    makeRollout({ runId, groupId: `${runId}-g${groupIndex}`, groupIndex, indexInGroup, groupSize: 2 });
  const release = async (request: RolloutRequest): Promise<void> => {
    await bus.publishJson(subjects.rollout(runId, 'train'), request, request.rolloutId);
    stragglers.asked(`${request.rolloutId}/0`);
  };
  const finish = (request: RolloutRequest): void => {
    const trajectory = makeTrajectory({ request });
    stragglers.came(trajectory);
    buffer.add(trajectory);
  };
  const queued = async (): Promise<string[]> => {
    const found: string[] = [];
    const stored = bus.stored(STREAMS.rollouts, subjects.rollout(runId, 'train'), RolloutRequest);
    for await (const { rolloutId } of stored) found.push(rolloutId);
    return found;
  };
  /** Eight episodes that arrived together. */
  const playOthers = (): void => {
    for (let index = 0; index < 8; index += 1) {
      const request = rollout(10 + Math.floor(index / 2), index % 2);
      stragglers.asked(`${request.rolloutId}/0`);
      finish(request);
    }
  };
  return { stragglers, buffer, rollout, release, finish, queued, playOthers };
}

it('asks for another episode once in place of one that takes long, and counts whichever comes first', async () => {
  const { stragglers, buffer, rollout, release, finish, queued, playOthers } = world('slow');
  const [slow, quick] = [rollout(0, 0), rollout(0, 1)];
  for (const request of [slow, quick]) await release(request);
  finish(quick);
  void stragglers.watch(stopping.signal);
  await setTimeout(2 * LEAST_MS);
  // Too few other durations are known.
  expect(await queued()).toEqual(['slow-g0-r0', 'slow-g0-r1']);
  playOthers();
  await eventually('another request', async () => (await queued()).length === 3);
  await setTimeout(2 * LEAST_MS);
  expect((await queued()).at(-1)).toBe('slow-g0-r0-a5');
  expect(await queued()).toHaveLength(3);
  expect([stragglers.takeReplaced(), stragglers.takeReplaced()]).toEqual([1, 0]);
  const other = Object.assign(new RolloutRequest(), slow, { attempt: 5, rolloutId: 'slow-g0-r0-a5' });
  expect([stragglers.isExtra(other), stragglers.isExtra(slow)]).toEqual([true, false]);
  expect(buffer.add(makeTrajectory({ request: other })).kind).toBe('waiting');
  expect(buffer.add(makeTrajectory({ request: slow })).kind).toBe('redundant');
});

it('asks for none in place of what waits in the queue, of evaluations, and of a group whose task takes long', async () => {
  const { stragglers, rollout, release, finish, queued, playOthers } = world('fair');
  const [waiting, long, longer] = [rollout(0, 0), rollout(1, 0), rollout(1, 1)];
  await bus.publishJson(subjects.rollout('fair', 'train'), waiting, waiting.rolloutId);
  await release(long);
  await setTimeout(LEAST_MS);
  finish(long);
  await release(longer);
  playOthers();
  stragglers.asked('fair-eval-1/0');
  void stragglers.watch(stopping.signal);
  // Longer than the limit for others, and shorter than that for this group.
  await setTimeout(2 * LEAST_MS);
  expect(await queued()).toHaveLength(3);
  expect(stragglers.takeReplaced()).toBe(0);
});

it('asks for none where the run does not want that', async () => {
  const { stragglers, rollout, release, queued, playOthers } = world('off', 0);
  await release(rollout(0, 0));
  playOthers();
  void stragglers.watch(stopping.signal);
  await setTimeout(2 * LEAST_MS);
  expect(await queued()).toHaveLength(1);
});
