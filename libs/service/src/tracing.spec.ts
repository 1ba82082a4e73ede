import { Logger } from '@nestjs/common';
import { BusService, failure } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects, Task, Trajectory } from '@ui-rl/contracts';
import {
  eventually,
  makeRollout,
  makeTrajectory,
  startNats,
  TraceCollector,
  type CollectedSpan,
} from '@ui-rl/testkit';
import { startTracing } from './tracing';

Logger.overrideLogger(false);

it('follows an episode through the services, from its request to the learner', async () => {
  const collector = await TraceCollector.start();
  const nats = await startNats();
  const tracing = await startTracing('test', `${collector.endpoint}/v1/traces`);
  const [loader, actor, learner] = await Promise.all(
    ['task-loader', 'actor', 'learner'].map((service) =>
      BusService.connect({ service, servers: [nats.url] }),
    ),
  );
  try {
    let taken = 0;
    learner.respond<Task>({
      subject: subjects.policyAct('run'),
      schema: Task,
      handle: () => Promise.resolve(failure('capacity', 'all rows are taken')),
    });
    await learner.consume<Trajectory>({
      ...{ stream: STREAMS.trajectories, durable: 'learner', schema: Trajectory },
      subject: subjects.trajectory('run', 'train'),
      handle: () => Promise.resolve(void (taken += 1)),
    });
    await actor.consume<RolloutRequest>({
      ...{ stream: STREAMS.rollouts, durable: 'actors', schema: RolloutRequest },
      subject: subjects.rollout('run', 'train'),
      handle: async (request) => {
        await actor.request(subjects.policyAct('run'), request.task, 1_000);
        const { rolloutId } = request;
        await actor.publishJson(subjects.trajectory('run', 'train'), makeTrajectory({ request }), rolloutId);
      },
    });
    for (const rolloutId of ['a', 'b']) {
      const request = makeRollout({ runId: 'run', purpose: 'train', rolloutId });
      await loader.publishJson(subjects.rollout('run', 'train'), request, rolloutId);
    }
    await eventually('both to come in', () => taken === 2);
  } finally {
    await Promise.all([loader, actor, learner].map((bus) => bus.close()));
    await tracing.close();
    await nats.stop();
    await collector.stop();
  }
  const { traces } = collector;
  expect(traces.size).toBe(2);
  for (const trace of traces.values()) {
    const line = (span: CollectedSpan): string[] => {
      const parent = trace.find(({ id }) => id === span.parent);
      return [...(parent === undefined ? [] : line(parent)), span.name];
    };
    expect(trace.filter(({ parent }) => parent === '')).toHaveLength(1);
    const played = ['publish rollout.train', 'handle rollout.train'];
    const lines = trace.map((span) => line(span).join(' > ')).toSorted((a, b) => a.localeCompare(b));
    expect(lines).toEqual(
      [
        played.slice(0, 1),
        played,
        [...played, 'publish trajectory.train'],
        [...played, 'publish trajectory.train', 'handle trajectory.train'],
        [...played, 'request policy.act'],
        [...played, 'request policy.act', 'answer policy.act'],
      ].map((names) => names.join(' > ')),
    );
    const failed = trace.filter(({ failed }) => failed).map(({ name }) => name);
    expect(failed.toSorted((a, b) => a.localeCompare(b))).toEqual([
      'answer policy.act',
      'request policy.act',
    ]);
  }
});
