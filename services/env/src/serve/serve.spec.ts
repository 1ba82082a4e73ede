import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { loadComponents, Sessions, type ComponentRegistry, type Reply, type Task } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { WebSocket } from 'ws';
import { RunEnvironments } from '../run-environments';
import { ServedEpisodes } from './episodes';
import { ServeService } from './serve.service';
import { serveEnvironments, type ServedEnvironments } from './server';
import { ServedWorld } from './world';

Logger.overrideLogger(false);

/** A form: the left half of the screen submits the row of the seed, the right half a wrong one. */
const PAGE = `<!doctype html><body style="margin:0;height:100vh"><script>
let rows = [], wrong = 0, seed = 0, text = '';
const draw = () => { document.body.style.background = 'rgb(' + [seed % 200, rows.length * 40, wrong * 40] + ')'; };
document.addEventListener('mousedown', ({ clientX }) => {
  if (clientX < innerWidth / 2) rows.push(seed % 10); else wrong += 1;
  draw();
});
document.addEventListener('keydown', ({ key }) => { text += key; });
window.uirl = {
  reset({ seed: given }) { [rows, wrong, seed, text] = [[], 0, given, '']; draw(); },
  state() { return { submitted_row_indices: rows, num_incorrect_submissions: wrong, text }; },
};
</script>`;

const SOURCE = `module.exports.default = {
  kind: 'task-source', name: 'form', pages: { form: require('node:path').join(__dirname, 'form') },
  create: () => ({
    load: () => ['first', 'second'].map((id) => ({
      id, description: 'Submit once: ' + id, maxSteps: 4,
      environment: { kind: 'browser', options: { page: 'form', viewport: { width: 64, height: 48 } } },
      checks: [{ path: 'submitted_row_indices', operator: 'contains', value: 3 }],
    })),
  }),
};`;

/** JSON, of which a test knows what it expects. */
interface Told {
  [key: string]: Told;
}
const namesOf = (tools: Told) => (tools as unknown as { name: string }[]).map(({ name }) => name);

const LEFT = { action: 'click', x: 10, y: 10 };
const RIGHT = { action: 'click', x: 50, y: 10 };

let folder: string;
let components: ComponentRegistry;
let environments: RunEnvironments;
let episodes: ServedEpisodes;
let server: ServedEnvironments;
const limits = { host: '127.0.0.1', port: 0, keys: [], maxRequests: 16, maxBodyBytes: 2 ** 20 };

function runFile(name: string, environment: object): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ tasks: { source_type: 'form' }, environment }));
  return file;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'env-serve-'));
  mkdirSync(join(folder, 'form'));
  writeFileSync(join(folder, 'form', 'index.html'), PAGE);
  writeFileSync(join(folder, 'source.js'), SOURCE);
  components = await loadComponents({ service: 'env', packages: ['./source.js'], from: folder });
  environments = new RunEnvironments({ environments: [], components, programs: {}, cacheDir: folder });
  const world = await ServedWorld.open(runFile('run.yaml', { max_sessions: 3 }), components, environments);
  episodes = new ServedEpisodes(world);
  server = await serveEnvironments(episodes, { ...limits, mode: 'simulation' });
});
afterAll(async () => {
  await server.close();
  await episodes.close();
  rmSync(folder, { recursive: true });
});

function value<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}

/** One of the project's own clients, with the options that a run file gives it. */
async function client(choice: { name: string; [option: string]: unknown }): Promise<Sessions> {
  const log = () => {};
  const made = await components.create('environment', choice, {
    pages: {},
    maxSessions: 4,
    programs: {},
    log,
  });
  return new Sessions(made, { maxSessions: 4 });
}

async function play(sessions: Sessions, kind: string, actions: readonly object[], seed = 3) {
  const task: Task = { description: 'submit', environment: { kind, options: {} } };
  const opened = value(await sessions.open({ task, seed, leaseMs: 30_000, deadlineMs: 10_000 }));
  const { sessionId } = opened;
  const steps = [];
  for (const [index, action] of actions.entries()) {
    steps.push(value(await sessions.step({ sessionId, stepId: String(index), action, deadlineMs: 10_000 })));
  }
  return { opened, steps, state: value(await sessions.closeSession(sessionId)).state };
}

async function ask(path: string, init?: RequestInit & { base?: string }) {
  const response = await fetch((init?.base ?? server.url) + path, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Told };
}

const post = (path: string, body: unknown) =>
  ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** A socket that sends texts as they are. */
async function socket(path: string, base = server.url) {
  const ws = new WebSocket(base.replace('http', 'ws') + path);
  const inbox: Told[] = [];
  ws.on('message', (data: Buffer) => inbox.push(JSON.parse(data.toString()) as Told));
  const closed = new Promise<number>((resolve) => ws.on('close', resolve));
  await new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject));
  const next = () => eventually('a message', () => inbox.shift(), 10_000, 5);
  const send = (message: unknown) => {
    ws.send(typeof message === 'string' ? message : JSON.stringify(message));
    return next();
  };
  return { ws, send, next, closed, leave: () => (ws.close(), closed) };
}

describe('clients of the project', () => {
  it.each(['websocket', 'http', 'mcp'])('play over OpenEnv’s protocol by %s', async (transport) => {
    const sessions = await client({
      name: 'openenv',
      servers: [server.url],
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
    await eventually('the end of the sessions', () => transport === 'http' || sessionCount() === 0);
    await leaveHttp();
  });

  it.each(['', '/proxy/somebody'])('play over the protocol of ui-verifiers at %p', async (path) => {
    const sessions = await client({
      name: 'ui-verifiers',
      ui_env_urls: [server.url + path],
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
    expect((await ask(`${path}/`, { method: 'DELETE' })).body).toEqual({ deleted: true });
  });

  it('see the same first frame for the same seed', async () => {
    const sessions = await client({ name: 'openenv', servers: [server.url], sessions_per_server: 2 });
    const played = [];
    for (const seed of [3, 3, 4]) played.push(await play(sessions, 'openenv', [], seed));
    const [first, second, third] = played.map(({ opened }) => opened.screenshot.sha256);
    expect([second === first, third === first]).toEqual([true, false]);
    await sessions.close();
  });
});

const sessionCount = () => environments.of('(served)', 'browser')!.size;

/** Over HTTP nothing says goodbye. */
async function leaveHttp(): Promise<void> {
  for (const id of ['(http)', ...httpIds()]) await episodes.end(id);
}
const httpIds = () => [...episodes.ids()].filter((id) => id.startsWith('http/'));

describe('OpenEnv over HTTP', () => {
  afterEach(leaveHttp);

  it('tells what it is', async () => {
    expect(await ask('/health')).toMatchObject({ status: 200, body: { status: 'healthy' } });
    expect((await ask('/metadata')).body).toMatchObject({ name: 'ui-rl browser', description: /^2 tasks/ });
    const { action, observation, state } = (await ask('/schema')).body;
    expect(action).toMatchObject({ required: ['action'], additionalProperties: false });
    expect(action.properties.x).toMatchObject({ type: 'integer', minimum: 0 });
    expect([observation.type, state.type]).toEqual(['object', 'object']);
    const paths = Object.keys((await ask('/openapi.json')).body.paths);
    expect(paths).toEqual(
      expect.arrayContaining(['/reset', '/step', '/state', '/mcp', '/act', '/proxy/{session}']),
    );
  });

  it('ends an episode with what the verifier says, also where its turns are used up', async () => {
    const first = await post('/reset', { seed: 3, task_id: 'first' });
    expect(first).toMatchObject({
      status: 200,
      body: { reward: 0, done: false, observation: { success: null } },
    });
    for (const left of [3, 2, 1]) {
      const { body } = await post('/step', {
        action: left === 1 ? LEFT : RIGHT,
        timeout_s: 3,
        request_id: 'r',
      });
      expect(body.done).toBe(false);
    }
    expect((await ask('/state')).body).toMatchObject({
      step_count: 3,
      environment: { submitted_row_indices: [3], num_incorrect_submissions: 2 },
    });
    const last = await post('/step', { action: RIGHT });
    expect(last.body).toMatchObject({
      done: true,
      reward: 1,
      observation: { status: 'truncated', success: true },
    });
    expect(await post('/step', { action: RIGHT })).toMatchObject({ status: 409, body: { detail: /reset/ } });
    expect((await ask('/state')).body).toMatchObject({
      step_count: 4,
      success: true,
      rewards: { 'task-success': 1 },
    });
    expect(sessionCount()).toBe(0);
  });

  it('keeps episodes apart that say which they are', async () => {
    for (const episode_id of ['a', 'b']) await post('/reset', { seed: 3, episode_id });
    await post('/step', { action: LEFT, episode_id: 'a' });
    const states = await Promise.all(['a', 'b'].map((id) => ask(`/state?episode_id=${id}`)));
    expect(states.map(({ body }) => [body.episode_id, body.step_count])).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
  });

  it.each<[string, string, unknown, number, RegExp]>([
    ['a negative seed', '/reset', { seed: -1 }, 422, /seed/],
    ['half a seed', '/reset', { seed: 1.5 }, 422, /seed/],
    ['an unknown task', '/reset', { task_id: 'third' }, 422, /no task is named .*third.*first, second/],
    ['a list', '/reset', [], 422, /expected an object/],
    ['half a message', '/reset', '{"seed":', 400, /JSON|position/],
    ['a long id', '/reset', { episode_id: 'x'.repeat(256) }, 422, /255/],
    ['an unknown episode', '/step', { action: LEFT, episode_id: 'nobody' }, 404, /no such episode/],
    ['a step without action', '/step', {}, 422, /action/],
    ['a large message', '/step', 'x'.repeat(2 ** 20 + 1), 413, /large/],
    ['an unknown path', '/nowhere', {}, 404, /nowhere/],
  ])('refuses %s', async (_, path, body, status, detail) => {
    const reply = await post(path, body);
    expect(reply.status).toBe(status);
    expect(JSON.stringify(reply.body.detail)).toMatch(detail);
  });

  it('refuses what is no action, and goes on', async () => {
    await post('/reset', { seed: 3 });
    expect(await post('/step', { action: { action: 'clack' } })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['action'], msg: expect.stringContaining('clack') as string }] },
    });
    expect((await post('/step', { action: { ...LEFT, metadata: { any: 1 } } })).status).toBe(200);
  });

  it('says when all sessions are in use', async () => {
    for (const episode_id of ['a', 'b', 'c']) await post('/reset', { episode_id });
    expect((await post('/reset', { episode_id: 'd' })).status).toBe(503);
    expect((await post('/reset', { episode_id: 'a' })).status).toBe(200);
  });

  it('in production has no way to reset, step or see the state', async () => {
    const production = await serveEnvironments(episodes, { ...limits, mode: 'production' });
    const base = production.url;
    for (const path of ['/reset', '/step', '/state']) {
      expect((await ask(path, { base, method: path === '/state' ? 'GET' : 'POST' })).status).toBe(404);
    }
    const paths = Object.keys((await ask('/openapi.json', { base })).body.paths);
    expect(paths.filter((path) => ['/reset', '/step', '/state'].includes(path))).toEqual([]);
    expect((await ask('/health', { base })).status).toBe(200);
    await production.close();
  });
});

describe('OpenEnv over a WebSocket', () => {
  it('answers each message in its turn, and each mistake with its code', async () => {
    const { send, closed, ws } = await socket('/ws');
    expect(await send({ type: 'state' })).toEqual({
      type: 'state',
      data: { episode_id: null, step_count: 0 },
    });
    const errors: [unknown, string][] = [
      ['{', 'INVALID_JSON'],
      [{ type: 'dance' }, 'UNKNOWN_TYPE'],
      [{ type: 'reset', data: { seed: 'one' } }, 'VALIDATION_ERROR'],
      [{ type: 'reset', data: {}, more: 1 }, 'VALIDATION_ERROR'],
      [{ type: 'step' }, 'VALIDATION_ERROR'],
      [{ type: 'step', data: LEFT }, 'SESSION_ERROR'],
    ];
    for (const [message, code] of errors) {
      expect(await send(message)).toMatchObject({ type: 'error', data: { code } });
    }
    expect(await send({ type: 'reset', data: { seed: 3, episode_id: 'mine' } })).toMatchObject({
      type: 'observation',
      data: { done: false, observation: { episode_id: 'mine' } },
    });
    expect(await send({ type: 'step', data: { action: 'click' } })).toMatchObject({
      data: { code: 'VALIDATION_ERROR' },
    });
    expect(await send({ type: 'step', data: LEFT })).toMatchObject({
      data: { observation: { outcome: 'ok' } },
    });
    const finish = { action: 'finish', success: false };
    expect(await send({ type: 'step', data: finish })).toMatchObject({ data: { done: true, reward: 1 } });
    expect(await send({ type: 'step', data: LEFT })).toMatchObject({ data: { code: 'EXECUTION_ERROR' } });
    expect(await send({ type: 'reset' })).toMatchObject({ data: { done: false } });
    ws.send(JSON.stringify({ type: 'close' }));
    expect(await closed).toBe(1000);
    await eventually('the end of the session', () => sessionCount() === 0);
  });

  it('is one environment each, as many as there are sessions', async () => {
    const three = await Promise.all([1, 2, 3].map(() => socket('/ws')));
    await Promise.all(three.map(({ send }) => send({ type: 'reset', data: { seed: 3 } })));
    const fourth = await socket('/ws');
    expect(await fourth.next()).toMatchObject({
      type: 'error',
      data: { code: 'CAPACITY_REACHED', active_sessions: 3, max_sessions: 3 },
    });
    expect(await fourth.closed).toBe(1013);
    await three[0].send({ type: 'step', data: LEFT });
    const states = await Promise.all(three.map(({ send }) => send({ type: 'state' })));
    expect(states.map(({ data }) => data.step_count)).toEqual([1, 0, 0]);
    // One that is cut off leaves its place as well.
    three[0].ws.terminate();
    await Promise.all(three.slice(1).map(({ leave }) => leave()));
    await eventually('the end of the sessions', () => sessionCount() === 0);
  });

  it('takes calls of tools, as OpenEnv’s clients of tools send them', async () => {
    const { send, leave } = await socket('/ws');
    await send({ type: 'reset', data: { seed: 3 } });
    const listed = await send({ type: 'step', data: { type: 'list_tools' } });
    expect(namesOf(listed.data.observation.tools)).toContain('click');
    const call = { type: 'call_tool', tool_name: 'click', arguments: { x: 10, y: 10 } };
    expect(await send({ type: 'step', data: call })).toMatchObject({
      data: { observation: { tool_name: 'click', error: null, result: { outcome: 'ok' } } },
    });
    const wrong = { ...call, tool_name: 'dance' };
    expect(await send({ type: 'step', data: wrong })).toMatchObject({
      data: { observation: { error: { error_type: 'tool_not_found' } } },
    });
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await send({ type: 'mcp', data: rpc })).toMatchObject({
      type: 'mcp',
      data: { id: 1, result: {} },
    });
    await leave();
  });

  it('is closed where it sends without waiting, or too much', async () => {
    const impatient = await socket('/ws');
    for (let index = 0; index < 64; index += 1) impatient.ws.send('{"type":"reset"}');
    expect(await impatient.closed).toBe(1008);
    const talkative = await socket('/ws');
    talkative.ws.send('x'.repeat(2 ** 20 + 1));
    expect(await talkative.closed).toBe(1009);
    await eventually('the end of the sessions', () => sessionCount() === 0);
  });
});

describe('tools over JSON-RPC', () => {
  const rpc = (method: string, params: object = {}) =>
    post('/mcp', { jsonrpc: '2.0', id: 'x', method, params });

  it('are listed and called in a session', async () => {
    const { tools } = (await rpc('tools/list')).body.result;
    const drag = (tools as unknown as Told[])[namesOf(tools).indexOf('drag')];
    expect(drag).toMatchObject({ inputSchema: { required: ['from', 'to'] } });
    const { session_id } = (await rpc('openenv/session/create', { seed: 3, task_id: 'first' })).body.result;
    const looked = (await rpc('tools/call', { session_id, name: 'screenshot' })).body.result;
    expect(looked.content[0]).toMatchObject({ type: 'image', mimeType: 'image/png' });
    const call = { session_id, name: 'click', arguments: { x: 10, y: 10 } };
    expect((await rpc('tools/call', call)).body).toMatchObject({
      id: 'x',
      result: { isError: false, structuredContent: { outcome: 'ok', goal: 'Submit once: first' } },
    });
    expect((await rpc('openenv/session/close', { session_id })).body.result).toEqual({
      session_id,
      closed: true,
    });
    expect((await rpc('tools/call', call)).body.error).toMatchObject({ code: -32602 });
    expect(sessionCount()).toBe(0);
  });

  it.each<[unknown, number]>([
    ['{', -32700],
    [{}, -32600],
    [{ jsonrpc: '2.0', method: 'x', id: {} }, -32600],
    [{ jsonrpc: '2.0', method: 'initialize' }, -32601],
    [{ jsonrpc: '2.0', method: 'constructor' }, -32601],
    [{ jsonrpc: '2.0', method: 'tools/call', params: { name: 'click' } }, -32602],
    [{ jsonrpc: '2.0', method: 'openenv/session/close', params: {} }, -32602],
    [{ jsonrpc: '2.0', method: 'openenv/session/create', params: { seed: 'x' } }, -32602],
  ])('answers %j with %i', async (body, code) => {
    const reply = await post('/mcp', body);
    expect(reply).toMatchObject({ status: 200, body: { jsonrpc: '2.0', error: { code } } });
  });

  it('has an environment for each WebSocket, without a session', async () => {
    const { send, leave } = await socket('/mcp');
    const ask = (id: number, method: string, params: object) => send({ jsonrpc: '2.0', id, method, params });
    expect(await ask(1, 'tools/call', { name: 'screenshot' })).toMatchObject({
      id: 1,
      result: { isError: false },
    });
    const { result } = await ask(2, 'openenv/session/create', {});
    expect(await ask(3, 'openenv/session/close', result as object)).toMatchObject({
      error: { code: -32600 },
    });
    expect(await send('{')).toMatchObject({ error: { code: -32700 } });
    await leave();
    await eventually('the end of the session', () => sessionCount() === 0);
  });
});

describe('the API of ui-verifiers', () => {
  afterEach(() => ask('/', { method: 'DELETE' }));

  it('says when its session began, and begins another one after its end', async () => {
    const began = async () => /Start time: (.*)/.exec((await ask('/')).text)![1];
    const first = await began();
    expect(await began()).toBe(first);
    await ask('/', { method: 'DELETE' });
    expect(await began()).not.toBe(first);
  });

  it.each([
    ['action_type=left_click&x=1', /y/],
    ['action_type=left_click&x=a&y=1', /pixels/],
    ['action_type=drag', /expected one of screenshot/],
    ['action_type=keys&keys=ctrl%2Bbananas', /bananas/],
    ['action_type=type', /text/],
    ['action_type=screenshot&delay=x', /delay/],
    ['x=1', /action_type/],
  ])('refuses /act?%s with 422', async (query, detail) => {
    const { status, body } = await ask(`/act?${query}`);
    expect(status).toBe(422);
    expect(JSON.stringify(body.detail)).toMatch(detail);
  });

  it('shows the screen the delay later', async () => {
    const response = await fetch(`${server.url}/act?action_type=left_click&x=1&y=1&delay=0.2&seed=7`);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect((await ask('/progress')).body).toEqual({
      submitted_row_indices: [7],
      num_incorrect_submissions: 0,
    });
  });
});

describe('who may ask', () => {
  it('is asked for a key, also at WebSockets', async () => {
    const key = 'a-key-of-sixteen-characters';
    const locked = await serveEnvironments(episodes, { ...limits, keys: [key], mode: 'simulation' });
    const base = locked.url;
    expect((await ask('/health', { base })).status).toBe(401);
    const authorization = `Bearer ${key}`;
    expect((await ask('/health', { base, headers: { authorization } })).status).toBe(200);
    await expect(socket('/ws', base)).rejects.toThrow('401');
    const sessions = await client({ name: 'openenv', servers: [base] });
    const task: Task = { description: 'x', environment: { kind: 'openenv', options: {} } };
    const refused = await sessions.open({ task, seed: 1, leaseMs: 1_000, deadlineMs: 5_000 });
    expect(refused).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('401') as string },
    });
    await sessions.close();
    await locked.close();
  });

  it('are no pages of other sites, and nobody by another name', async () => {
    const headers = { origin: 'https://evil.example' };
    expect((await ask('/health', { headers })).status).toBe(403);
    const ws = new WebSocket(`${server.url.replace('http', 'ws')}/ws`, { headers });
    await expect(
      new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject)),
    ).rejects.toThrow('403');
    await expect(socket('/elsewhere')).rejects.toThrow('404');
  });
});

describe('the service', () => {
  const service = (changes: object) => {
    const quick = new RunEnvironments({ environments: [], components, programs: {}, cacheDir: folder });
    const serve = {
      ...limits,
      keyFile: join(folder, 'key'),
      sealFile: join(folder, 'seal'),
      runFile: runFile('service.yaml', { max_sessions: 1 }),
      mode: 'simulation' as const,
      ...changes,
    };
    const options = { environments: [], components, programs: {}, cacheDir: folder, serve };
    return new ServeService(options, quick);
  };

  it('asks for a key that it makes, where other machines reach it and none is given', async () => {
    const open = service({ host: '0.0.0.0' });
    await open.onApplicationBootstrap();
    const base = `http://127.0.0.1:${new URL(open.url!).port}`;
    expect((await ask('/health', { base })).status).toBe(401);
    const authorization = `Bearer ${readFileSync(join(folder, 'key'), 'utf8')}`;
    expect((await ask('/health', { base, headers: { authorization } })).status).toBe(200);
    await open.onModuleDestroy();
    await expect(fetch(`${base}/health`)).rejects.toThrow('fetch failed');
  });

  it.each([
    ['a port that is taken', () => ({ port: Number(new URL(server.url).port) }), /EADDRINUSE/],
    ['a run file that is not there', () => ({ runFile: join(folder, 'none.yaml') }), /none\.yaml/],
    ['an option nobody knows', () => ({ runFile: runFile('bad.yaml', { rooms: 3 }) }), /rooms/],
  ])('does not start with %s', async (_, changes, message) => {
    const failing = service(changes());
    await expect(failing.onApplicationBootstrap()).rejects.toThrow(message);
    await failing.onModuleDestroy();
  });
});

describe('callers who go away', () => {
  it('lose their sessions and sockets when they were idle for too long', async () => {
    const quick = new RunEnvironments({ environments: [], components, programs: {}, cacheDir: folder });
    const file = runFile('quick.yaml', { max_sessions: 2, lease_ms: 300 });
    const idle = new ServedEpisodes(await ServedWorld.open(file, components, quick));
    const at = await serveEnvironments(idle, { ...limits, mode: 'simulation' });
    const { send, closed } = await socket('/ws', at.url);
    await send({ type: 'reset' });
    await ask('/', { base: at.url });
    expect(await closed).toBe(1008);
    await eventually('the end of the sessions', () => quick.of('(served)', 'browser')!.size === 0);
    expect((await ask('/act?action_type=screenshot', { base: at.url })).status).toBe(404);
    // Who asks whether it is there gets another session.
    expect((await ask('/', { base: at.url })).status).toBe(200);
    expect((await ask('/act?action_type=screenshot', { base: at.url })).status).toBe(200);
    await at.close();
    await idle.close();
  });
});
