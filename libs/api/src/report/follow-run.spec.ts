import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { subjects, type RunEvent } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTrajectory, startNats } from '@ui-rl/testkit';
import { followRun } from './follow-run';
import { RunObserver } from './run-observer';

Logger.overrideLogger(false);

it('counts what comes again, with an older copy of the store or after a long pause, once', async () => {
  const nats = await startNats();
  const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  const observer = new RunObserver();
  const events: RunEvent[] = [];
  await bus.runs.create({ runId: 'run', createdAt: new Date().toISOString(), config: {} });
  const stop = await followRun(bus, 'run', observer, (event) => events.push(event));
  const play = (rolloutId: string) =>
    bus.publishJson(
      subjects.trajectory('run', 'train'),
      makeTrajectory({ request: makeRollout({ rolloutId }) }),
      rolloutId,
    );
  await play('before');
  await eventually('both events and the episode', () => events.length === 2 && observer.episodes === 1);
  nats.saveStore();
  await play('lost');
  await eventually('the other episode', () => observer.episodes === 2);
  await nats.kill();
  nats.restoreStore('messages');
  await nats.launch();
  for (const rolloutId of ['lost', 'after']) await play(rolloutId);
  await eventually('the last one', () => observer.episodes === 3, 10_000);
  await stop();
  expect([events.length, observer.episodes]).toEqual([2, 3]);
  await bus.close();
  await nats.stop();
});
