import { BusService } from '@ui-rl/bus';
import { RolloutProgressEvent, STREAMS, subjects } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTask, type NatsServer, startNats } from '@ui-rl/testkit';
import { Progress } from './progress';

const RUN = 'slow-run';

let nats: NatsServer;
let bus: BusService;
const told: RolloutProgressEvent[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'actor', servers: [nats.url] });
  await bus.consume<RolloutProgressEvent>({
    ...{ stream: STREAMS.events, durable: 'test', subject: subjects.event(RUN, 'rollout_progress') },
    schema: RolloutProgressEvent,
    handle: async (event) => void told.push(event),
  });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

test('an actor tells how far its slow rollouts are, and nothing of those that have ended', async () => {
  const progress = new Progress(bus, RUN, 'actor-1', 200);
  const request = makeRollout({ runId: RUN, rolloutId: 'r-slow', task: makeTask({ id: 'wifi' }) });
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  await progress.during(makeRollout({ runId: RUN, rolloutId: 'r-quick' }), 5, async () => undefined);
  let turns = 0;
  const slow = progress.during(request, 5, async (playing) => {
    playing.turns = () => turns;
    await eventually('the first report', () => told.length > 0);
    Object.assign(playing, { phase: 'playing' });
    turns = 2;
    await ended;
  });
  await eventually('a later report', () => told.at(-1)?.rollouts[0].turns === 2);
  end();
  await slow;
  await progress.close();
  const all = told.flatMap(({ rollouts }) => rollouts);
  expect(new Set(all.map(({ rolloutId }) => rolloutId))).toEqual(new Set(['r-slow']));
  expect(told[0]).toMatchObject({ actor: 'actor-1', rollouts: [{ phase: 'opening', turns: 0 }] });
  expect(all.at(-1)).toMatchObject({ task: 'wifi', purpose: 'train', phase: 'playing', maxTurns: 5 });
});
