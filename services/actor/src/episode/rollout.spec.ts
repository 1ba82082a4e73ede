import { BusService, failure, instantiate } from '@ui-rl/bus';
import { Trajectory } from '@ui-rl/contracts';
import { type EpisodePlan, playRollout, type RolloutContext, turnSeed } from '@ui-rl/episode';
import { sleep } from '@ui-rl/retry';
import { eventually, makeRollout, makeTask, type NatsServer, startNats } from '@ui-rl/testkit';
import { frame, PLAN, World } from '../../test/world';
import { overBroker } from './over-broker';
import { TIMEOUTS } from './timeouts';

const RUN = 'actor-test';
const timeouts = { ...TIMEOUTS, openMs: 600, sessionMs: 300, policyMs: 400 };

let nats: NatsServer;
let bus: BusService;
let other: BusService;
let world: World;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'actor', servers: [nats.url] });
  other = await BusService.connect({ service: 'world', servers: [nats.url] });
  World.serve(other, RUN, () => world);
});

afterAll(async () => {
  await bus.close();
  await other.close();
  await nats.stop();
});

beforeEach(() => {
  world = new World(RUN);
});

async function play(changes: Partial<EpisodePlan> = {}, context: Partial<RolloutContext> = {}) {
  const request = makeRollout({ runId: RUN, task: makeTask({ maxSteps: 10 }) });
  const played = await playRollout(request, {
    ...overBroker(bus, RUN, timeouts),
    plan: { ...PLAN, ...changes },
    actor: 'actor-1',
    delivery: 1,
    stopping: new AbortController().signal,
    ...context,
  });
  expect(instantiate(JSON.parse(JSON.stringify(played)) as object, Trajectory)).toMatchObject({ ok: true });
  return played;
}

test('an episode is played until the policy finishes, judged by its state and scored', async () => {
  world.answers = ['{"action":"click","x":8,"y":9}', '{"action":"finish","success":false}'];
  const played = await play();
  expect(played).toMatchObject({ status: 'completed', success: true, reward: 0.5, rewards: { half: 0.5 } });
  expect(played.turns).toMatchObject([
    { actions: [{ action: 'click', x: 8, y: 9 }], outcome: 'ok', policyVersion: 2, tokenIds: [4, 5] },
    { actions: [{ action: 'finish', success: false }], outcome: 'ok' },
  ]);
  const after = frame(world.steps[0].stepId);
  expect(played.finalScreenshot).toBe(after.sha256);
  expect(played.turns.map(({ screenshot }) => screenshot)).toEqual([frame('first').sha256, after.sha256]);
  for (const { screenshot } of played.turns)
    expect(await bus.blobs.of(played.request.runId).get(screenshot)).not.toBeNull();
  expect(world.closed).toEqual(['s1']);
});

test('an episode tells its environment, its phases, its verifier, and when its checks held first', async () => {
  const states = ['home', 'settings', 'home', 'settings'];
  world.step = (count) => ({
    ...{ screenshot: frame(`step ${count}`), outcome: 'ok', done: count === 4 },
    state: { screen: states[count - 1] },
  });
  world.open = async () => {
    await sleep(60);
    return { sessionId: 's1', instance: 'one', screenshot: frame('first'), state: { screen: 'home' } };
  };
  world.answers = states.map(() => '{"action":"click","x":8,"y":9}');
  const phases: string[] = [];
  const played = await play({ maxTurns: 4 }, { onPhase: (phase) => phases.push(phase) });
  expect(phases).toEqual(['opening', 'playing', 'closing', 'judging', 'storing']);
  expect(played).toMatchObject({
    environment: { kind: 'browser', instance: 'one', width: 160, height: 224 },
    verifier: 'checks',
    firstSuccess: 1,
  });
  expect(Date.parse(played.environment!.openedAt)).toBeGreaterThanOrEqual(Date.parse(played.startedAt) + 50);
  expect(played.times!.opening).toBeGreaterThanOrEqual(50);
  expect(played.times!.playing).toBeGreaterThan(0);
  const sum = Object.values(played.times!).reduce((total, time) => total + time, 0);
  expect(sum).toBeLessThanOrEqual(played.idle!.playedMs + 1);

  // An environment that reports its state only at the end.
  world = new World(RUN);
  world.answers = ['{"action":"click","x":8,"y":9}', '{"action":"finish","success":true}'];
  world.stateBefore = null;
  expect(await play()).toMatchObject({ success: true, firstSuccess: 1 });
  world.state = { screen: 'home' };
  expect(await play()).not.toHaveProperty('firstSuccess');
});

test('an episode that uses up its turns is truncated, and its final state still judged', async () => {
  world.state = { screen: 'home' };
  const played = await play();
  expect(played).toMatchObject({ status: 'truncated', success: false, reward: 0 });
  expect(played.turns).toHaveLength(3);
  expect(new Set(world.asked.map(({ seed }) => seed)).size).toBe(3);
});

test('an episode whose own answers leave no room for another is truncated, one whose first prompt has none is invalid', async () => {
  world.answers = ['{"action":"wait","seconds":0}'];
  world.act = (attempt) => (attempt > 1 ? failure('prompt_too_long', 'no room') : undefined);
  const { status, turns, success } = await play();
  expect([status, turns.length, success]).toEqual(['truncated', 1, true]);
  world.act = () => failure('prompt_too_long', 'no room');
  expect(await play()).toMatchObject({ status: 'invalid', turns: [] });
});

test('a text that is not an action costs a turn and is explained in the next one', async () => {
  world.answers = ['tap it', '{"action":"finish","success":true}'];
  const played = await play({ promptStyle: 'full' });
  expect(played.turns[0]).toMatchObject({
    actions: [],
    outcome: 'no_action',
    parseError: expect.stringContaining('no_action'),
  });
  expect(world.steps).toHaveLength(0);
  const told = world.asked[1].messages[1].content[1].text;
  expect(told).toMatch(/no JSON object[^]*\nTask: Open Settings/);
  expect(played.status).toBe('completed');
});

test('a crash of the environment makes the episode invalid, with the reason and what was played', async () => {
  world.step = (count) => (count === 2 ? failure('crashed', 'the page crashed') : undefined);
  const played = await play();
  expect(played).toMatchObject({ status: 'invalid', success: null, reward: 0 });
  expect(played.environment).toMatchObject({ kind: 'browser', width: 160 });
  expect(played.times).toBeUndefined();
  expect(played.invalidReason).toMatch(/crashed.*the page crashed/);
  expect(played.turns).toHaveLength(1);
  expect(world.opened).toBe(1);
});

test('an episode whose session is lost begins again and is published as one', async () => {
  world.answers = ['{"action":"click","x":1,"y":1}', '{"action":"finish","success":true}'];
  world.step = (count) => (count === 1 ? failure('no_session', 'no such session') : undefined);
  const played = await play();
  expect(played.status).toBe('completed');
  expect(played.turns).toHaveLength(2);
  expect(world.opened).toBe(2);
  // A new play uses new request ids, so that it cannot receive answers to the first one.
  expect(new Set(world.asked.map(({ requestId }) => requestId)).size).toBe(3);
});

test('an env service that never answers makes the episode invalid after its restarts', async () => {
  world.open = () => ({ sessionId: 's', instance: 'dead', screenshot: frame('first') });
  const played = await play();
  expect(played.status).toBe('invalid');
  expect(played.invalidReason).toMatch(/no_responders/);
  expect(world.opened).toBe(1 + timeouts.restarts);
});

test('no room is waited for, but not for ever', async () => {
  world.answers = ['{"action":"finish","success":true}'];
  world.open = (attempt) => (attempt < 2 ? failure('capacity', 'all 4 sessions are taken') : undefined);
  expect((await play()).status).toBe('completed');
  world.open = () => failure('capacity', 'all 4 sessions are taken');
  const played = await play();
  expect(played).toMatchObject({ status: 'invalid', turns: [] });
  expect(played.invalidReason).toMatch(/capacity.*all 4 sessions/);
});

test('an environment that fails while it opens is asked again: nothing was played yet', async () => {
  world.answers = ['{"action":"finish","success":true}'];
  world.open = (attempt) =>
    attempt === 1 ? failure('deadline', 'the page did not answer in time') : undefined;
  expect((await play()).status).toBe('completed');
  world.open = () => failure('bad_task', 'there is no page "none"');
  world.opened = 0;
  expect((await play()).invalidReason).toMatch(/bad_task.*no page "none"/);
  expect(world.opened).toBe(1);
});

test('a learner that comes back within the turn is asked again under the same id', async () => {
  world.answers = ['{"action":"finish","success":true}'];
  world.act = (attempt) => (attempt < 3 ? failure('internal', 'the learner restarts') : undefined);
  expect((await play()).status).toBe('completed');
  expect(new Set(world.asked.map(({ requestId }) => requestId)).size).toBe(1);
});

test('a policy that does not answer within the turn makes the episode invalid', async () => {
  world.act = () => failure('internal', 'out of memory');
  const played = await play({ turnTimeoutMs: 700 });
  expect(played.status).toBe('invalid');
  expect(played.invalidReason).toMatch(/deadline/);
  await eventually('the session to be closed', () => world.closed.length === 1);
});

test('an answer for another screenshot than the one that was sent is refused', async () => {
  world.act = (attempt) =>
    attempt === 1 ? { ...world.reply(world.asked[0]), promptImages: ['f'.repeat(64)] } : undefined;
  expect((await play()).invalidReason).toMatch(/bad_reply/);
});

test('a reward that fails makes the episode invalid and is named', async () => {
  world.answers = ['{"action":"finish","success":true}'];
  const broken = { name: 'broken', instance: { score: () => Number.NaN } };
  expect((await play({ rewards: [broken] })).invalidReason).toMatch(/"broken" gave NaN/);
});

test('an episode ends at once when the actor is stopped, and its session with it', async () => {
  const stopping = new AbortController();
  world.act = (attempt) => {
    if (attempt === 2) stopping.abort();
    return failure('internal', 'not now');
  };
  await expect(play({}, { stopping: stopping.signal })).rejects.toThrow(/being stopped/);
  expect(world.asked).toHaveLength(2);
  await eventually('the session to be closed', () => world.closed.length === 1);
});

test('a session that opens after the actor was stopped is closed', async () => {
  const stopping = new AbortController();
  world.open = async () => {
    stopping.abort();
    return { sessionId: 'late', instance: 'one', screenshot: frame('first') };
  };
  await expect(play({}, { stopping: stopping.signal })).rejects.toThrow(/being stopped/);
  await eventually('the session to be closed', () => world.closed.includes('late'));
});

test('the sampler gets another seed in each turn, the same in each play', () => {
  const seeds = Array.from({ length: 20 }, (_, sample) =>
    [0, 1, 2].map((turn) => turnSeed(sample, turn)),
  ).flat();
  expect(new Set(seeds).size).toBe(60);
  expect(seeds.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)).toBe(true);
});
