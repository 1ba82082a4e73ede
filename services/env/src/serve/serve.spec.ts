import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Reply, type Sessions, type Task } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { WebSocket } from 'ws';
import { LEFT, limits, RIGHT, ServedForm } from '../../test/served-form';
import { ServedEpisodes } from './episodes';
import { ServeService } from './serve.service';
import { serveEnvironments } from './server';
import { ServedWorld } from './world';

let form: ServedForm;
beforeAll(async () => {
  form = await ServedForm.open();
});
afterAll(() => form.close());

function value<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}

async function play(sessions: Sessions, kind: string, actions: readonly object[], seed = 3, options = {}) {
  const task: Task = { description: 'submit', environment: { kind, options } };
  const opened = value(await sessions.open({ task, seed, leaseMs: 30_000, deadlineMs: 10_000 }));
  const { sessionId } = opened;
  const steps = [];
  for (const [index, action] of actions.entries()) {
    steps.push(value(await sessions.step({ sessionId, stepId: String(index), action, deadlineMs: 10_000 })));
  }
  return { opened, steps, state: value(await sessions.closeSession(sessionId)).state };
}

describe('clients of the project', () => {
  it.each(['websocket', 'http', 'mcp'])('play over OpenEnv’s protocol by %s', async (transport) => {
    const sessions = await form.client({
      name: 'openenv',
      servers: [form.server.url],
      transport,
      ...(transport === 'mcp' ? { first_call: { name: 'screenshot' } } : {}),
    });
    const { opened, steps, state } = await play(sessions, 'openenv', [
      LEFT,
      { action: 'drag', from: [1, 1], to: [2, 2] },
      { action: 'click', x: 64, y: 1 },
      { action: 'finish', success: true },
    ]);
    expect(opened).toMatchObject({
      screenshot: { width: 64, height: 48 },
      state: { reward: 0, done: false, observation: { goal: 'Submit once: second', status: 'running' } },
    });
    expect(steps.map(({ outcome, done }) => [outcome, done])).toEqual([
      ['ok', false],
      ['ok', false],
      ['outside_viewport', false],
      ['ok', true],
    ]);
    expect(steps[0].screenshot.sha256).not.toBe(opened.screenshot.sha256);
    expect(state).toMatchObject({
      reward: 1,
      done: true,
      observation: { status: 'completed', success: true, outcome: 'ok' },
    });
    await sessions.close();
    await eventually('the end of the sessions', () => transport === 'http' || form.sessionCount() === 0);
    await form.leaveHttp();
  });

  it.each(['', '/proxy/lab'])('play over the protocol of ui-verifiers at %p', async (path) => {
    const sessions = await form.client({
      name: 'ui-verifiers',
      ui_env_urls: [form.server.url + path],
      delay_seconds: 0,
    });
    const { steps, state } = await play(sessions, 'ui-verifiers', [
      LEFT,
      RIGHT,
      { action: 'type', text: `it's "1" & 2%` },
      { action: 'key', keys: ['ctrl', 'a'] },
      { action: 'scroll', direction: 'down', amount: 3 },
      { action: 'finish', success: true },
    ]);
    expect(steps.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok']);
    // Sessions of this protocol have the seed of the first task.
    expect(state).toEqual({ submitted_row_indices: [0], num_incorrect_submissions: 1, num_submissions: 1 });
    const again = await play(sessions, 'ui-verifiers', [LEFT]);
    expect(again.state).toMatchObject({ submitted_row_indices: [0], num_incorrect_submissions: 0 });
    await sessions.close();
    expect((await form.ask(`${path}/`, { method: 'DELETE' })).body).toEqual({ deleted: true });
  });

  it('are in a session of the type that their task says: the source that is served', async () => {
    const sessions = await form.client({
      name: 'ui-verifiers',
      ui_env_urls: [`${form.server.url}/proxy/typed`],
    });
    const { steps } = await play(sessions, 'ui-verifiers', [LEFT], 0, { session_type: 'form' });
    expect(steps[0].outcome).toBe('ok');
    await expect(play(sessions, 'ui-verifiers', [], 0, { session_type: 'shop' })).rejects.toThrow(
      /for a session of type shop, but .* has one of type form$/,
    );
    await sessions.close();
    await form.ask('/proxy/typed/', { method: 'DELETE' });
  });

  it('see the same first frame for the same seed', async () => {
    const sessions = await form.client({
      name: 'openenv',
      servers: [form.server.url],
      sessions_per_server: 2,
    });
    const played = [];
    for (const seed of [3, 3, 4]) played.push(await play(sessions, 'openenv', [], seed));
    const [first, second, third] = played.map(({ opened }) => opened.screenshot.sha256);
    expect([second === first, third === first]).toEqual([true, false]);
    await sessions.close();
  });
});

describe('the API of ui-verifiers', () => {
  afterEach(() => form.ask('/', { method: 'DELETE' }));

  it('says when its session began, and begins another one after its end', async () => {
    const began = async () => /Start time: (.*)/.exec((await form.ask('/')).text)![1];
    const first = await began();
    expect(await began()).toBe(first);
    await form.ask('/', { method: 'DELETE' });
    expect(await began()).not.toBe(first);
  });

  it.each(['ctrl%2B%2B', 'ctrl%2Bpage%20down', 'num0', '%2B'])('presses the keys %s', async (keys) => {
    expect((await form.ask(`/act?action_type=keys&keys=${keys}&delay=0`)).status).toBe(200);
  });

  it.each([
    ['action_type=left_click&x=1', /y/],
    ['action_type=left_click&x=a&y=1', /pixels/],
    ['action_type=drag', /expected one of screenshot/],
    ['action_type=keys&keys=ctrl%2Bbananas', /bananas/],
    ['action_type=keys&keys=ctrl%2B', /expected keys such as ctrl\+a/],
    ['action_type=type', /text/],
    ['action_type=screenshot&delay=x', /delay/],
    ['x=1', /action_type/],
  ])('refuses /act?%s with 422', async (query, detail) => {
    const { status, body } = await form.ask(`/act?${query}`);
    expect(status).toBe(422);
    expect(JSON.stringify(body.detail)).toMatch(detail);
  });

  it('shows the screen the delay later', async () => {
    const response = await fetch(`${form.server.url}/act?action_type=left_click&x=1&y=1&delay=0.2&seed=7`);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect((await form.ask('/progress')).body).toEqual({
      submitted_row_indices: [7],
      num_incorrect_submissions: 0,
    });
  });
});

describe('allowed clients', () => {
  it('is asked for a key, also at WebSockets', async () => {
    const key = 'a-key-of-sixteen-characters';
    const locked = await serveEnvironments(form.episodes, { ...limits, keys: [key], mode: 'simulation' });
    const base = locked.url;
    expect((await form.ask('/health', { base })).status).toBe(401);
    const authorization = `Bearer ${key}`;
    expect((await form.ask('/health', { base, headers: { authorization } })).status).toBe(200);
    await expect(form.socket('/ws', base)).rejects.toThrow('401');
    const sessions = await form.client({ name: 'openenv', servers: [base] });
    const task: Task = { description: 'x', environment: { kind: 'openenv', options: {} } };
    const refused = await sessions.open({ task, seed: 1, leaseMs: 1_000, deadlineMs: 5_000 });
    expect(refused).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('401') as string },
    });
    await sessions.close();
    await locked.close();
  });

  it('refuse pages of other sites, and requests under another host name', async () => {
    const headers = { origin: 'https://evil.example' };
    expect((await form.ask('/health', { headers })).status).toBe(403);
    const ws = new WebSocket(`${form.server.url.replace('http', 'ws')}/ws`, { headers });
    await expect(
      new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject)),
    ).rejects.toThrow('403');
    await expect(form.socket('/elsewhere')).rejects.toThrow('404');
  });
});

describe('pages of a browser on this machine', () => {
  const CLICK = '/act?action_type=left_click&coordinate=[10,10]';

  it.each([
    ['embed a picture', 'GET', CLICK, { 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors' }],
    ['lead to an address', 'GET', CLICK, { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }],
    ['begin a session', 'GET', '/', { 'sec-fetch-dest': 'iframe', 'sec-fetch-mode': 'navigate' }],
    ['ask for progress', 'GET', '/proxy/a/progress', { 'sec-fetch-mode': 'no-cors' }],
    ['send a form', 'POST', '/reset', { 'sec-fetch-mode': 'navigate', origin: 'null' }],
  ])('of other sites may not %s', async (_, method, path, headers) => {
    const asked = await form.ask(path, { method, headers: { 'sec-fetch-site': 'cross-site', ...headers } });
    expect(asked).toMatchObject({ status: 403, body: { detail: expect.stringContaining('pages of') } });
    expect(form.sessionCount()).toBe(0);
  });

  it.each([
    ['by hand', { 'sec-fetch-site': 'none' }],
    ['from a page of this machine', { 'sec-fetch-site': 'same-site' }],
    [
      'from a page of this machine by another name',
      { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' },
    ],
    ['by a program', {}],
  ])('may ask %s', async (_, headers) => {
    expect((await form.ask('/health', { headers })).status).toBe(200);
  });
});

describe('the service', () => {
  const service = (changes: object) => {
    const quick = form.otherEnvironments();
    const serve = {
      ...limits,
      keyFile: join(form.folder, 'key'),
      sealFile: join(form.folder, 'seal'),
      runFile: form.runFile('service.yaml', { max_sessions: 1 }),
      mode: 'simulation' as const,
      ...changes,
    };
    const { components, folder } = form;
    const options = { environments: [], components, programs: {}, cacheDir: folder, serve };
    return new ServeService(options, quick);
  };

  it('asks for a key that it makes, where other machines reach it and none is given', async () => {
    const open = service({ host: '0.0.0.0' });
    await open.onApplicationBootstrap();
    const base = `http://127.0.0.1:${new URL(open.url!).port}`;
    expect((await form.ask('/health', { base })).status).toBe(401);
    const authorization = `Bearer ${readFileSync(join(form.folder, 'key'), 'utf8')}`;
    expect((await form.ask('/health', { base, headers: { authorization } })).status).toBe(200);
    await open.onModuleDestroy();
    await expect(fetch(`${base}/health`)).rejects.toThrow('fetch failed');
  });

  it.each([
    ['a port that is taken', () => ({ port: Number(new URL(form.server.url).port) }), /EADDRINUSE/],
    ['a run file that is not there', () => ({ runFile: join(form.folder, 'none.yaml') }), /none\.yaml/],
    ['an unknown option', () => ({ runFile: form.runFile('bad.yaml', { rooms: 3 }) }), /rooms/],
  ])('does not start with %s', async (_, changes, message) => {
    const failing = service(changes());
    await expect(failing.onApplicationBootstrap()).rejects.toThrow(message);
    await failing.onModuleDestroy();
  });
});

describe('callers who go away', () => {
  it('lose their sessions and sockets when they were idle for too long', async () => {
    const quick = form.otherEnvironments();
    const file = form.runFile('quick.yaml', { max_sessions: 2, lease_ms: 300 });
    const idle = new ServedEpisodes(await ServedWorld.open(file, form.components, quick));
    const at = await serveEnvironments(idle, { ...limits, mode: 'simulation' });
    const { send, closed } = await form.socket('/ws', at.url);
    await send({ type: 'reset' });
    await form.ask('/', { base: at.url });
    expect(await closed).toBe(1008);
    await eventually('the end of the sessions', () => quick.of('(served)', 'browser')!.size === 0);
    expect((await form.ask('/act?action_type=screenshot', { base: at.url })).status).toBe(404);
    // A greeting opens another session.
    expect((await form.ask('/', { base: at.url })).status).toBe(200);
    expect((await form.ask('/act?action_type=screenshot', { base: at.url })).status).toBe(200);
    await at.close();
    await idle.close();
  });
});
