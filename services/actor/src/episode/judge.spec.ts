import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import { type EpisodePlan, IsolatedComponent, planEpisodes, playRollout, Screenshots } from '@ui-rl/episode';
import {
  loadComponents,
  type JudgedEpisode,
  type Reward,
  type RewardParts,
  type RewardResult,
  type Verifier,
} from '@ui-rl/plugin-kit';
import { parseRunFile } from '@ui-rl/settings';
import { makeRollout, makeTask, type NatsServer, startNats } from '@ui-rl/testkit';
import { frame, PLAN, World } from '../../test/world';
import { overBroker } from './over-broker';

const RUN = 'actor-judge';

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
  world.answers = ['{"action":"click","x":8,"y":9}', 'hm', '{"action":"finish","success":true}'];
});

const request = makeRollout({ runId: RUN, seed: 7, task: makeTask({ maxSteps: 10 }) });

const STUCK = `exports.default = {
  kind: 'reward',
  name: 'stuck',
  create: () => ({
    score({ seed }) {
      while (seed === 1);
      return seed;
    },
  }),
};`;

function play(changes: Partial<EpisodePlan>, rollout = request) {
  return playRollout(rollout, {
    ...overBroker(bus, RUN),
    plan: { ...PLAN, ...changes },
    actor: 'actor-1',
    delivery: 1,
    stopping: new AbortController().signal,
  });
}

const named = (rewards: Record<string, Reward['score']>) =>
  Object.entries(rewards).map(([name, score]) => ({ name, instance: { score } }));

test('a reward gets the whole episode: task, actions, parse errors, states, and screenshots on demand', async () => {
  let seen: JudgedEpisode | undefined;
  let lastPng = '';
  let firstPng = '';
  const looks: Reward['score'] = async (episode, { deadlineAt, signal }) => {
    seen = episode;
    lastPng = new TextDecoder().decode(await episode.finalObservation.png());
    firstPng = new TextDecoder().decode(await episode.turns[0].observation.png());
    expect(deadlineAt).toBeGreaterThan(Date.now());
    expect(signal.aborted).toBe(false);
    return lastPng.includes('/0.0') ? 2 : 0;
  };
  const played = await play({ rewards: named({ looks }) });
  expect(played).toMatchObject({
    status: 'completed',
    reward: 2,
    rewards: { looks: 2 },
    initialState: { screen: 'home' },
    finalState: { screen: 'settings' },
  });
  const after = frame(`${request.rolloutId}/0.0`);
  expect(lastPng).toBe(new TextDecoder().decode(after.png));
  expect(firstPng).toBe(new TextDecoder().decode(frame('first').png));
  const observed = ({ sha256, width, height }: typeof after) =>
    expect.objectContaining({ sha256, width, height });
  expect(seen).toEqual({
    task: request.task,
    seed: 7,
    status: 'completed',
    success: true,
    turns: [
      expect.objectContaining({
        index: 0,
        observation: observed(frame('first')),
        actions: [{ action: 'click', x: 8, y: 9 }],
        outcome: 'ok',
      }),
      expect.objectContaining({ actions: [], parseError: expect.stringContaining('no_action'), text: 'hm' }),
      expect.objectContaining({ observation: observed(after), outcome: 'ok' }),
    ],
    finalObservation: observed(after),
    stateBefore: { screen: 'home' },
    stateAfter: { screen: 'settings' },
  });
});

test('rewards pay named parts, for the episode and by turns, and the return is the sum of all', async () => {
  const rewards = named({
    success: ({ success }) => Number(success),
    shaping: ({ turns }) => ({
      episode: { tidy: 0.5 },
      turns: turns.map(({ parseError }): RewardParts =>
        parseError === undefined ? { near: 0.25 } : { tidy: -0.125, near: 0 },
      ),
    }),
    steps: ({ turns }) => ({ turns: turns.map(() => -0.0625) }),
  });
  const played = await play({ rewards });
  expect(played.rewards).toEqual({ success: 1, tidy: 0.375, near: 0.5, steps: -0.1875 });
  expect(played.reward).toBe(1.6875);
  expect(played.turns.map(({ reward, rewards: parts }) => ({ reward, parts }))).toEqual([
    { reward: 0.1875, parts: { near: 0.25, steps: -0.0625 } },
    { reward: -0.1875, parts: { tidy: -0.125, near: 0, steps: -0.0625 } },
    { reward: 0.1875, parts: { near: 0.25, steps: -0.0625 } },
  ]);
});

test('verdicts of rewards stand beside that of the verifier, and pay nothing', async () => {
  const judge: Reward['score'] = () => ({ episode: { seen: 0.5 }, verdicts: { judge: false } });
  const played = await play({ rewards: named({ judge, 'task-success': () => 1 }) });
  expect(played).toMatchObject({ success: true, reward: 1.5, verdicts: { judge: false } });
  expect((await play({})).verdicts).toBeUndefined();
  const again: Reward['score'] = () => ({ verdicts: { judge: true } });
  const { invalidReason } = await play({ rewards: named({ judge, again }) });
  expect(invalidReason).toBe('reward: rewards "judge" and "again" both give a verdict named "judge"');
});

test('where the environment tells its state, each turn has those before and after it', async () => {
  const states: unknown[] = [];
  const looks: Reward['score'] = ({ turns }) => {
    states.push(turns.map(({ stateBefore, stateAfter }) => [stateBefore, stateAfter]));
    return 0;
  };
  await play({ rewards: named({ looks }) });
  world.step = () => ({ screenshot: frame('next'), outcome: 'ok', done: false, state: { clicks: 1 } });
  await play({ rewards: named({ looks }) });
  const home = { screen: 'home' };
  const clicked = { clicks: 1 };
  expect(states).toEqual([
    [
      [home, undefined],
      [undefined, undefined],
      [undefined, undefined],
    ],
    [
      [home, clicked],
      [clicked, clicked],
      [clicked, clicked],
    ],
  ]);
});

test('where no reward pays by turns, turns have none', async () => {
  const { turns } = await play({});
  expect(turns.some((turn) => 'reward' in turn || 'rewards' in turn)).toBe(false);
});

test('a reward from outside that never gives control back makes its episode invalid, by name, and the actor continues', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stuck-'));
  const file = join(folder, 'stuck.js');
  writeFileSync(file, STUCK);
  const stuck = await IsolatedComponent.start(
    { file, kind: 'reward', choice: { name: 'stuck' } },
    () => undefined,
  );
  const rewards = [{ name: 'stuck', instance: stuck }];
  const [hangs, next] = await Promise.all([
    play(
      { rewards, turnTimeoutMs: 1_500 },
      makeRollout({ runId: RUN, task: request.task, rolloutId: 'hangs', seed: 1 }),
    ),
    play(
      { rewards, turnTimeoutMs: 8_000 },
      makeRollout({ runId: RUN, task: request.task, rolloutId: 'next', seed: 2 }),
    ),
  ]);
  await stuck.close();
  rmSync(folder, { recursive: true });
  expect(hangs).toMatchObject({
    status: 'invalid',
    invalidReason: 'deadline: reward "stuck" took longer than 1500 ms',
  });
  expect(next).toMatchObject({ status: 'completed', rewards: { stuck: 2 } });
});

test('a reward is made of others, of a thread and of a model that judges; a model that never answers makes episodes invalid', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'made-of-'));
  const file = join(folder, 'stuck.js');
  writeFileSync(file, STUCK);
  let answers = true;
  const shown: (string | undefined)[] = [];
  const server = createServer((asked, response) => {
    shown.push(asked.headers.authorization);
    if (!answers) return;
    const message = { content: '{"reason": "the screen says so", "success": false}' };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices: [{ message }] }));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env.JUDGE_API_KEYS = `${origin}=secret`;
  const judge = { name: 'judge', base_url: `${origin}/v1`, model: 'any' };
  const of = ['task-success', 'stuck', judge];
  const components = await loadComponents({ packages: [file] });
  const run = parseRunFile(
    {
      model: { name: 'small' },
      tasks: 'demo_training',
      training: { max_steps: 1 },
      rewards: [{ name: 'composite', of, weights: { stuck: 0.5 } }],
    },
    components,
    'this test',
  );
  const planned = await planEpisodes(run, components, () => undefined);
  try {
    const { rewards } = planned.plan;
    expect(await play({ rewards })).toMatchObject({
      reward: 4.5,
      success: true,
      rewards: { 'task-success': 1, stuck: 3.5, judge: 0 },
      verdicts: { judge: false },
    });
    expect(shown).toEqual(['Bearer secret']);
    answers = false;
    world.state = { screen: 'another' };
    world.step = () => ({ screenshot: frame('elsewhere'), outcome: 'ok', done: false });
    const { status, invalidReason } = await play({ rewards, turnTimeoutMs: 700 });
    expect({ status, invalidReason }).toEqual({
      status: 'invalid',
      invalidReason: 'deadline: reward "composite" took longer than 700 ms',
    });
  } finally {
    delete process.env.JUDGE_API_KEYS;
    await planned.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    rmSync(folder, { recursive: true });
  }
}, 30_000);

test('two rewards that pay a part of the same name are refused, both by name', async () => {
  const rewards = named({ one: () => ({ bonus: 1 }), two: () => ({ turns: [0, { bonus: 1 }, 0] }) });
  const { status, invalidReason, reward } = await play({ rewards });
  expect({ status, reward }).toEqual({ status: 'invalid', reward: 0 });
  expect(invalidReason).toBe('reward: rewards "one" and "two" both pay a part named "bonus"');
});

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'gave nothing, expected a number, parts by name, or {episode, turns}'],
  ['a list', [1], 'gave [1], expected a number, parts'],
  ['more than 32 bits hold', 1e308, 'gave 1e+308, expected a finite number of 32 bits'],
  ['a part that is not a number', { near: 'much' }, 'gave "much" as part "near", expected a finite number'],
  ['too few turns', { turns: [1] }, 'pays for 1 turns, the episode has 3'],
  [
    'a verdict that is none',
    { verdicts: { judge: 'yes' } },
    'gave verdicts {"judge":"yes"}, expected true or false',
  ],
  ['something else beside turns', { turns: [0, 0, 0], total: 1 }, 'gave "total" beside "turns"'],
])('a reward that gives %s makes the episode invalid', async (_what, result, problem) => {
  const { invalidReason } = await play({ rewards: named({ odd: () => result as RewardResult }) });
  expect(invalidReason).toContain('reward: reward "odd" ');
  expect(invalidReason).toContain(problem);
});

test('a reward that hangs makes the episode invalid by its deadline, and is aborted', async () => {
  let signal: AbortSignal | undefined;
  const hangs: Reward['score'] = (_episode, deadline) => {
    ({ signal } = deadline);
    return new Promise(() => undefined);
  };
  const { status, invalidReason, turns } = await play({ rewards: named({ hangs }), turnTimeoutMs: 500 });
  expect({ status, invalidReason }).toEqual({
    status: 'invalid',
    invalidReason: 'deadline: reward "hangs" took longer than 500 ms',
  });
  expect(signal?.aborted).toBe(true);
  expect(turns).toHaveLength(3);
});

test.each<[string, Verifier['verify'], string]>([
  [
    'fails',
    () => {
      throw new Error('no idea');
    },
    'verifier: verifier "strict" failed: no idea',
  ],
  ['says neither yes nor no', () => 'yes' as never, 'verifier: verifier "strict" says "yes"'],
])('a verifier that %s makes the episode invalid', async (_what, verify, reason) => {
  const { status, invalidReason } = await play({ verifier: { name: 'strict', instance: { verify } } });
  expect(status).toBe('invalid');
  expect(invalidReason).toContain(reason);
});

test('a verifier may judge by more than the state, and may not know', async () => {
  const byTurns: Verifier = { verify: ({ turns }) => (turns.length === 3 ? null : true) };
  const verifier = { name: 'by-turns', instance: byTurns };
  const played = await play({ verifier, rewardsJudge: true });
  expect(played).toMatchObject({ status: 'completed', success: null, reward: 0 });
  const evaluation = makeRollout({ runId: RUN, seed: 7, task: request.task, purpose: 'eval' });
  const evaluated = await play({ verifier }, evaluation);
  expect(evaluated).toMatchObject({ status: 'completed', success: null });
  const unjudged = await play({ verifier });
  expect(unjudged).toMatchObject({
    status: 'invalid',
    success: null,
    invalidReason: expect.stringMatching(
      /^unjudged: verifier "by-turns" cannot judge the task, and no reward/,
    ),
  });
});

test('a screenshot that memory was too small for is read from the blobs', async () => {
  const screenshots = new Screenshots(bus.blobs.of(RUN), 1);
  const [first, second] = [frame('memory 1'), frame('memory 2')];
  screenshots.add(first);
  screenshots.add(second);
  for (const { sha256, png } of [first, second]) {
    expect(Buffer.compare(await screenshots.observation(sha256).png(), png)).toBe(0);
  }
  expect(() => screenshots.observation('0'.repeat(64))).toThrow('the episode has no screenshot 000');
});
