import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { samplingSeed, STREAMS, subjects, Trajectory, type RolloutRequest } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTrajectory, startNats, type NatsServer } from '@ui-rl/testkit';
import { Progress } from '../training/progress';
import { RunWarnings } from '../warnings';
import { GroupBuffer } from './groups';
import { trajectoryConsumer } from './intake';
import { LostEpisodes } from './lost-episodes';

Logger.overrideLogger(false);

const RUN = 'lost-run';
const SEED = 5;

let nats: NatsServer;
let bus: BusService;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'learner', servers: [nats.url] });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

const rollout = (groupIndex: number, indexInGroup: number, changes: Partial<RolloutRequest> = {}) =>
  makeRollout({
    runId: RUN,
    groupId: `${RUN}-g${groupIndex}`,
    groupIndex,
    indexInGroup,
    groupSize: 2,
    ...changes,
  });

it('episodes that no queue has and that did not come in are requested again; a group of which nothing came is given up', async () => {
  const progress = new Progress(RUN, { name: 'model' });
  progress.settled.add(0);
  const buffer = new GroupBuffer({
    maxAttempts: 3,
    isSettled: (index) => progress.settled.has(index),
    isHopeless: () => false,
  });
  const abandoned: number[][] = [];
  const intake = await bus.consume<Trajectory>({
    stream: STREAMS.trajectories,
    durable: trajectoryConsumer(RUN),
    subject: subjects.trajectory(RUN, 'train'),
    schema: Trajectory,
    concurrency: 8,
    handle: async (trajectory) => {
      const added = buffer.add(trajectory);
      if (added.kind === 'waiting') await added.settled;
    },
  });
  // Of groups 1 and 2 one episode arrived each; the sibling in group 2 is still in the queue; of group 3 none
  // arrived.
  for (const request of [rollout(1, 0), rollout(2, 0)]) {
    await bus.publishJson(subjects.trajectory(RUN, 'train'), makeTrajectory({ request }), request.rolloutId);
  }
  const queued = rollout(2, 1);
  await bus.publishJson(subjects.rollout(RUN, 'train'), queued, queued.rolloutId);
  await bus.runsBucket.put(`${RUN}.loader`, { groupsReleased: 4 });
  await eventually('both trajectories', () => buffer.openAt([1, 2]).length === 2);

  const stop = new AbortController();
  const lost = new LostEpisodes(
    {
      ...{ runId: RUN, bus, buffer, progress },
      options: { groupSize: 2, maxAttempts: 3, seed: SEED },
      warnings: new RunWarnings(bus, RUN),
      isOver: () => false,
    },
    50,
  );
  const watching = lost.watch(stop.signal, (groups) => {
    abandoned.push([...groups]);
    for (const group of groups) progress.fail(group);
  });
  await eventually('the lost group', () => abandoned.length > 0);
  expect(abandoned).toEqual([[3]]);
  const inQueue = async (): Promise<RolloutRequest[]> => {
    const found: RolloutRequest[] = [];
    for await (const each of bus.stored<RolloutRequest>(STREAMS.rollouts, subjects.rollout(RUN, 'train')))
      found.push(each);
    return found;
  };
  const again = await eventually('the lost episode', async () => {
    const found = await inQueue();
    return found.length === 2 ? found[1] : null;
  });
  expect(again).toMatchObject({
    rolloutId: `${RUN}-g1-r1-a3`,
    groupIndex: 1,
    indexInGroup: 1,
    attempt: 3,
    seed: rollout(1, 0).seed,
    samplingSeed: samplingSeed(SEED, 'train', 1, 1),
  });

  // Each repeated request is lost, too; then its group is also abandoned.
  const actor = await bus.consume<RolloutRequest>({
    stream: STREAMS.rollouts,
    durable: `actors-${RUN}`,
    subject: subjects.rollout(RUN, '*'),
    handle: () => Promise.resolve(),
  });
  await eventually('groups 1 and 2', () => abandoned.flat().length === 3);
  expect(new Set(abandoned.flat())).toEqual(new Set([1, 2, 3]));
  stop.abort();
  await watching;
  await Promise.all([actor.stop(), intake.stop()]);
  const warnings: string[] = [];
  for await (const { code } of bus.stored<{ code: string }>(STREAMS.events, subjects.event(RUN, 'warning'))) {
    warnings.push(code);
  }
  expect(new Set(warnings)).toEqual(new Set(['lost_episodes']));
});
