import { tmpdir } from 'node:os';
import Anthropic from '@anthropic-ai/sdk';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { BusService, failure, sha256 } from '@ui-rl/bus';
import { STREAMS, subjects, Trajectory } from '@ui-rl/contracts';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { decideOnUnservedRuns, openApplication } from '@ui-rl/service';
import { drained, eventually, makeRollout, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import OpenAI, { APIUserAbortError } from 'openai';
import { register } from 'prom-client';
import sharp from 'sharp';
import { frame, PLAN, World } from '../../test/world';
import { ActorModule } from '../actor.module';
import { overBroker } from '../episode/over-broker';
import { AgentEndpoint } from './agent-endpoint';
import { AgentSession } from './agent-session';
import { deferred } from './deferred';

Logger.overrideLogger(false);

const RUN = 'agents';
const KEY = 'a-key-for-tests-only';
const CONFIG = {
  model: { name: 'any', prompt: 'compact' },
  tasks: { source_type: 'demo_training' },
  rollout: { played_by: 'agents', concurrency: 2, max_turns: 3, max_tokens: 64, turn_timeout_ms: 20_000 },
  environment: { deadline_ms: 5_000 },
  training: { max_steps: 1 },
};

interface Session {
  id: string;
  base_url: string;
  anthropic_base_url: string;
  rollout: string;
  task: { description: string };
  screenshot: string | null;
  max_turns: number;
}

let nats: NatsServer;
let components: ComponentRegistry;
let bus: BusService;
let actorBus: BusService;
let actor: INestApplicationContext;
let url: string;
let screen: { png: Uint8Array; url: string };
let world: World;
const published: Trajectory[] = [];

beforeAll(async () => {
  components = await loadComponents();
  const png = new Uint8Array(
    await sharp({ create: { width: 16, height: 16, channels: 3, background: 'red' } })
      .png()
      .toBuffer(),
  );
  screen = { png, url: `data:image/png;base64,${Buffer.from(png).toString('base64')}` };
  nats = await startNats();
  const connect = (service: string) => BusService.connect({ service, servers: [nats.url] });
  [bus, actorBus] = await Promise.all([connect('world'), connect('actor')]);
  decideOnUnservedRuns(bus);
  World.serve(bus, RUN, () => world);
  await bus.consume<Trajectory>({
    stream: STREAMS.trajectories,
    durable: 'test',
    subject: subjects.trajectory(RUN, '*'),
    schema: Trajectory,
    handle: async (trajectory) => void published.push(trajectory),
  });
  const endpoint = {
    host: '127.0.0.1',
    port: 0,
    keys: [KEY],
    keyFile: '',
    sealFile: '',
    maxRequests: 8,
    maxBodyBytes: 2 ** 20,
  };
  actor = await openApplication(actorBus, ActorModule.forRoot({ components, cacheDir: tmpdir() }, endpoint));
  url = `${actor.get(AgentEndpoint).url}/sessions`;
  await bus.runs.create({ runId: RUN, createdAt: new Date().toISOString(), config: CONFIG });
});
afterAll(async () => {
  await actor.close();
  await actorBus.close();
  await bus.close();
  await nats.stop();
});
beforeEach(() => {
  world = new World(RUN);
  published.length = 0;
});

async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function rollout(rolloutId: string, changes: Parameters<typeof makeRollout>[0] = {}): Promise<void> {
  const request = makeRollout({ rolloutId, runId: RUN, ...changes });
  await bus.publishJson(subjects.rollout(RUN, 'train'), request, rolloutId);
}

async function open(wish: object = {}): Promise<Session> {
  // The actor may not have joined the run yet.
  const found = await eventually('a session', async () => {
    const { status, body } = await ask('POST', '', { wait_seconds: 20, ...wish });
    return status === 201 ? (body as Session) : null;
  });
  return found;
}

function clientOf({ base_url: baseURL }: Session): OpenAI {
  return new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 });
}

const RETRIED = { headers: { 'x-stainless-retry-count': '1' } };

function shown(text: string): OpenAI.ChatCompletionMessageParam[] {
  const content = [
    { type: 'image_url' as const, image_url: { url: screen.url } },
    { type: 'text' as const, text },
  ];
  return [{ role: 'user', content }];
}

/**
 * A call whose caller disconnects before the policy has answered. @returns a function that lets the policy answer,
 * and waits until the session has the answer
 */
async function lose(session: Session, text: string): Promise<() => Promise<void>> {
  const calls = async () => ((await ask('GET', `/${session.id}`)).body as { calls: number }).calls;
  const [before, asked] = [await calls(), world.asked.length];
  const answered = deferred<void>();
  world.act = async (attempt) => {
    await answered.promise;
    return world.reply(world.asked[attempt - 1]);
  };
  const gone = new AbortController();
  const body = { model: 'latest', messages: shown(text) };
  const call = clientOf(session).chat.completions.create(body, { signal: gone.signal });
  await eventually('the call at the policy', () => world.asked.length > asked);
  gone.abort();
  await expect(call).rejects.toThrow(APIUserAbortError);
  await eventually('the session to notice', async () => (await calls()) === before);
  world.act = undefined;
  return async () => {
    answered.resolve();
    await eventually('the end of the call', async () =>
      (await register.getSingleMetricAsString('uirl_endpoint_num_requests_running')).endsWith(' 0'),
    );
  };
}

async function settled(): Promise<Trajectory> {
  await drained(bus, STREAMS.rollouts, `actors-${RUN}`, 20_000);
  await drained(bus, STREAMS.trajectories, 'test');
  expect(published).toHaveLength(1);
  return published[0];
}

test('an agent operates an environment, and its calls are the turns of the trajectory', async () => {
  world.answers = ['I look.', 'I click.'];
  await rollout('operates');
  const session = await open();
  expect(session).toMatchObject({
    rollout: 'operates',
    max_turns: 3,
    task: { description: 'Open Settings' },
  });
  const seen = Buffer.from(session.screenshot!.split(',')[1], 'base64');
  expect(seen.toString()).toBe('png first');
  const client = clientOf(session);
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['latest']);
  const messages = shown(session.task.description);
  const first = await client.chat.completions.create({ model: 'latest', messages, logprobs: true });
  messages.push(first.choices[0].message, { role: 'user', content: 'Continue.' });
  const second = await client.chat.completions.create({ model: 'latest', messages, stream: true });
  let text = '';
  for await (const { choices } of second) text += choices[0]?.delta.content ?? '';
  expect([first.choices[0].message.content, text]).toEqual(['I look.', 'I click.']);
  const done = await ask('POST', `/${session.id}/actions`, { actions: [{ action: 'click', x: 3, y: 4 }] });
  expect(done).toMatchObject({ status: 200, body: { outcome: 'ok', executed: 1, done: false } });
  const ended = await ask('POST', `/${session.id}/end`, {});
  expect(ended.body).toMatchObject({ status: 'completed', success: true, reward: 1, turns: 2 });
  const played = await settled();
  expect(played).toMatchObject({
    ...{ status: 'completed', success: true, finalState: { screen: 'settings' }, verifier: 'checks' },
    environment: { kind: 'browser', instance: 'one', width: 160 },
    times: { playing: expect.any(Number), judging: expect.any(Number) },
  });
  expect(played.times!.playing).toBeGreaterThan(0);
  expect(
    played.turns.map(({ index, tokenIds, text: said, actions, screenshot }) => [
      index,
      tokenIds,
      said,
      actions,
      screenshot,
    ]),
  ).toEqual([
    [0, [4, 5], 'I look.', [], sha256(screen.png)],
    [1, [4, 5], 'I click.', [{ action: 'click', x: 3, y: 4 }], sha256(screen.png)],
  ]);
  // The second request refers to the picture of the first one by its hash.
  expect(world.asked[1].images).toEqual([sha256(screen.png)]);
  expect(world.asked.map(({ seed }) => seed)[0]).not.toBe(world.asked[1].seed);
  expect(world.closed).toEqual(['s1']);
  expect((await ask('GET', `/${session.id}`)).status).toBe(404);
});

test('an agent with its own environment reports its state; a repeated call is one turn', async () => {
  await rollout('own');
  const session = await open({ environment: 'own' });
  expect(session.screenshot).toBeNull();
  expect(world.opened).toBe(0);
  const input = [
    {
      role: 'user' as const,
      content: [{ type: 'input_image' as const, image_url: screen.url, detail: 'auto' as const }],
    },
  ];
  const client = clientOf(session);
  await client.responses.create({ model: 'latest', input });
  await client.responses.create({ model: 'latest', input }, RETRIED);
  expect(world.asked).toHaveLength(1);
  await client.responses.create({ model: 'latest', input });
  const ended = await ask('POST', `/${session.id}/end`, { state: { screen: 'home' } });
  expect(ended.body).toMatchObject({ status: 'completed', success: false, reward: 0, turns: 2 });
  const played = await settled();
  expect(played.finalState).toEqual({ screen: 'home' });
  expect(played).not.toHaveProperty('environment');
});

test('a call that comes again is answered anew where it failed, or what was answered has been done', async () => {
  world.answers = ['0', '1', '2'];
  await rollout('again');
  const session = await open();
  const messages = shown(session.task.description);
  const answer = async (options = {}) => {
    const { choices } = await clientOf(session).chat.completions.create(
      { model: 'latest', messages },
      options,
    );
    return choices[0].message.content;
  };
  const click = { action: 'click', x: 3, y: 4 };
  expect([await answer(), await answer(RETRIED)]).toEqual(['0', '0']);
  // Two concurrent calls, as of an agent with parallel tool calls: both are executed.
  await Promise.all(
    [click, { ...click, x: 5 }].map((action) => ask('POST', `/${session.id}/actions`, { actions: [action] })),
  );
  expect(world.steps.map(({ action }) => (action as { x: number }).x)).toEqual([3, 5]);
  expect(await answer(RETRIED)).toBe('1');
  world.act = () => failure('failed', 'the policy is out of order');
  await expect(answer()).rejects.toMatchObject({ status: 503 });
  world.act = undefined;
  expect(await answer(RETRIED)).not.toBe('1');
  await ask('POST', `/${session.id}/end`, {});
  const { turns } = await settled();
  expect(turns.map(({ actions }) => actions.length)).toEqual([2, 0, 0]);
});

test('an answer that did not reach the agent is not a turn, unless the agent requests it again', async () => {
  world.answers = ['0', '1', '2', '3', '4'];
  await rollout('lost');
  const session = await open({ environment: 'own' });
  const answerTo = async (text: string, options = {}) => {
    const body = { model: 'latest', messages: shown(text) };
    return (await clientOf(session).chat.completions.create(body, options)).choices[0].message.content;
  };
  const late = await lose(session, 'zero');
  expect(await answerTo('one')).toBe('1');
  await late();
  await (
    await lose(session, 'two')
  )();
  expect(await answerTo('two', RETRIED)).toBe('2');
  await (
    await lose(session, 'three')
  )();
  // The last of three turns is available as long as its answer was not delivered.
  await (
    await lose(session, 'four')
  )();
  expect((await ask('POST', `/${session.id}/end`, { state: {} })).body).toMatchObject({
    status: 'completed',
    turns: 2,
  });
  expect((await settled()).turns.map(({ index, text }) => [index, text])).toEqual([
    [0, '1'],
    [1, '2'],
  ]);
  expect(world.asked).toHaveLength(5);
});

test('tokens of a prompt are counted without a turn, whose screenshots are not sent again', async () => {
  world.answers = ['I look.'];
  await rollout('counts');
  const session = await open({ environment: 'own' });
  const client = new Anthropic({ baseURL: session.anthropic_base_url, apiKey: KEY, maxRetries: 0 });
  const source = {
    type: 'base64' as const,
    media_type: 'image/png' as const,
    data: screen.url.split(',')[1],
  };
  const messages = [{ role: 'user' as const, content: [{ type: 'image' as const, source }] }];
  // Agents with a fixed list of names cannot name the policy.
  const model = 'claude-sonnet-4-6';
  const count = () => client.messages.countTokens({ model, messages });
  expect(await count()).toEqual({ input_tokens: 3 });
  const answer = await client.messages.create({ model, max_tokens: 8, messages });
  expect(answer).toMatchObject({
    model: 'latest@2',
    content: [{ text: 'I look.' }],
    usage: { input_tokens: 3 },
  });
  expect(await count()).toEqual({ input_tokens: 3 });
  expect(world.counted.map(({ images }) => images)).toEqual([[screen.png], [sha256(screen.png)]]);
  await ask('POST', `/${session.id}/end`, { state: {} });
  expect((await settled()).turns).toHaveLength(1);
  await expect(count()).rejects.toMatchObject({ status: 404, errorCode: 'session_over' });
});

test('of a prompt that is too long the oldest turns are left out where the agent asks for that', async () => {
  await rollout('long');
  const session = await open({ environment: 'own' });
  const isShort = () => world.asked.at(-1)!.messages.length === 1;
  world.act = () => (isShort() ? undefined : failure('prompt_too_long', 'there is no room'));
  const look = { type: 'input_image' as const, image_url: screen.url, detail: 'auto' as const };
  const input = [
    { role: 'user' as const, content: [look] },
    { role: 'assistant' as const, content: 'I look.' },
    { role: 'user' as const, content: 'And now?' },
  ];
  const respond = (truncation?: 'auto') =>
    clientOf(session).responses.create({ model: 'latest', input, truncation });
  await expect(respond()).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  await respond('auto');
  expect(world.asked.at(-1)).toMatchObject({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'And now?' }] }],
    images: [],
  });
  await ask('POST', `/${session.id}/end`, { state: {} });
  expect((await settled()).turns).toHaveLength(1);
});

test('a session is not over while a call is answered, however long that takes', async () => {
  const plan = { ...PLAN, turnTimeoutMs: 300 };
  const task = { ...makeTask(), environment: { kind: 'browser', options: {} } };
  const context = { actor: 'test', delivery: 1, stopping: new AbortController().signal };
  const session = await AgentSession.open(
    'ses_slow',
    makeRollout({ runId: RUN, task }),
    { environment: 'service' },
    { ...overBroker(actorBus, RUN), ...context, plan },
  );
  let isOver = false;
  void session.trajectory.then(() => (isOver = true));
  world.step = () =>
    new Promise((resolve) => {
      setTimeout(() => resolve({ screenshot: frame('late'), outcome: 'ok', done: false }), 200);
    });
  const click = { action: 'click', x: 1, y: 2 };
  expect([await session.act([click, click]), isOver]).toEqual([
    { outcome: 'ok', executed: 2, done: false },
    false,
  ]);
  expect((await session.trajectory).invalidReason).toBe('deadline: the session was asked nothing for 300 ms');
  await eventually('the environment to be let go', () => world.closed.length === 1);
});

test('refuses answers that the run could not train; turns beyond the task’s truncate the episode', async () => {
  await rollout('limits', { task: makeRollout().task });
  const session = await open({ environment: 'own' });
  const client = clientOf(session);
  const messages = shown('Continue.');
  const chat = (changes: object) => client.chat.completions.create({ model: 'latest', messages, ...changes });
  await expect(chat({ temperature: 0 })).rejects.toMatchObject({ status: 400, param: 'temperature' });
  await expect(chat({ top_p: 0.5 })).rejects.toMatchObject({ status: 400, param: 'top_p' });
  await expect(chat({ n: 2 })).rejects.toMatchObject({ status: 400, code: 'invalid_value', param: 'n' });
  await expect(chat({ messages: [{ role: 'user', content: 'blind' }] })).rejects.toMatchObject({
    status: 400,
    code: 'no_screenshot',
  });
  for (let turn = 0; turn < session.max_turns; turn += 1) await chat({ temperature: 0.7 });
  await expect(chat({})).rejects.toMatchObject({ status: 400, code: 'turns_used_up' });
  expect((await ask('POST', `/${session.id}/end`, { state: {} })).body).toMatchObject({
    status: 'truncated',
    turns: 3,
  });
  const { turns } = await settled();
  expect(turns.map(({ temperature }) => temperature)).toEqual([0.7, 0.7, 0.7]);
});

test('an episode that its agent gives up does not count; one that no agent requests stays in the queue', async () => {
  expect(await ask('POST', '', { wait_seconds: 0 })).toMatchObject({
    status: 503,
    body: { error: { code: 'no_episode' } },
  });
  await rollout('left');
  const session = await open();
  expect(await ask('DELETE', `/${session.id}`)).toMatchObject({ status: 200 });
  expect(await settled()).toMatchObject({ status: 'invalid', invalidReason: 'agent: gave the session up' });
  expect(world.closed).toEqual(['s1']);
});

test('a session that is being opened takes one place of the run', async () => {
  const opening = deferred<void>();
  world.open = async (attempt) => {
    await opening.promise;
    return { sessionId: `s${attempt}`, instance: 'one', screenshot: frame('first'), state: {} };
  };
  await rollout('first');
  await rollout('second');
  const claims = [];
  for (const opened of [1, 2]) {
    claims.push(ask('POST', '', { wait_seconds: 20 }));
    await eventually('its environment', () => world.opened === opened);
  }
  expect(await ask('POST', '', { wait_seconds: 0 })).toMatchObject({ status: 429 });
  opening.resolve();
  const answers = await Promise.all(claims);
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  for (const { body } of answers) await ask('DELETE', `/${(body as Session).id}`);
  await eventually('both episodes', () => published.length === 2);
});

test('an actor without an address for agents leaves such a run to others', async () => {
  const other = await BusService.connect({ service: 'actor', servers: [nats.url] });
  const app = await openApplication(
    other,
    ActorModule.forRoot({ runId: 'absent', components, cacheDir: tmpdir() }),
  );
  await actor.close();
  await bus.runs.create({ runId: 'absent', createdAt: new Date().toISOString(), config: CONFIG });
  const state = await eventually('the end of the run', async () => {
    const found = await bus.runs.state('absent');
    return found?.phase === 'failed' ? found : null;
  });
  expect(state.reason).toMatch(/set AGENTS_PORT/);
  await app.close();
  await other.close();
});
