import { LEFT, limits, namesOf, RIGHT, ServedForm, type Told } from '../../test/served-form';
import type { WebSocket } from 'ws';
import { serveEnvironments } from './server';

let form: ServedForm;
beforeAll(async () => {
  form = await ServedForm.open();
});
afterAll(() => form.close());

describe('OpenEnv over HTTP', () => {
  afterEach(() => form.leaveHttp());

  it('tells what it is', async () => {
    expect(await form.ask('/health')).toMatchObject({ status: 200, body: { status: 'healthy' } });
    expect((await form.ask('/metadata')).body).toMatchObject({
      name: 'ui-rl browser',
      description: /^2 tasks/,
    });
    const { action, observation, state } = (await form.ask('/schema')).body;
    expect(action).toMatchObject({ required: ['action'], additionalProperties: false });
    expect(action.properties.x).toMatchObject({ type: 'integer', minimum: 0 });
    expect([observation.type, state.type]).toEqual(['object', 'object']);
    const paths = Object.keys((await form.ask('/openapi.json')).body.paths);
    expect(paths).toEqual(
      expect.arrayContaining(['/reset', '/step', '/state', '/mcp', '/act', '/proxy/{session}']),
    );
  });

  it('ends an episode with what the verifier says, also where its turns are used up', async () => {
    const first = await form.post('/reset', { seed: 3, task_id: 'first' });
    expect(first).toMatchObject({
      status: 200,
      body: { reward: 0, done: false, observation: { success: null } },
    });
    for (const left of [3, 2, 1]) {
      const { body } = await form.post('/step', {
        action: left === 1 ? LEFT : RIGHT,
        timeout_s: 3,
        request_id: 'r',
      });
      expect(body.done).toBe(false);
    }
    expect((await form.ask('/state')).body).toMatchObject({
      step_count: 3,
      environment: { submitted_row_indices: [3], num_incorrect_submissions: 2 },
    });
    const last = await form.post('/step', { action: RIGHT });
    expect(last.body).toMatchObject({
      done: true,
      reward: 1,
      observation: { status: 'truncated', success: true },
    });
    expect(await form.post('/step', { action: RIGHT })).toMatchObject({
      status: 409,
      body: { detail: /reset/ },
    });
    expect((await form.ask('/state')).body).toMatchObject({
      step_count: 4,
      success: true,
      rewards: { 'task-success': 1 },
    });
    expect(form.sessionCount()).toBe(0);
  });

  it('keeps episodes apart that say which they are', async () => {
    for (const episode_id of ['a', 'b']) await form.post('/reset', { seed: 3, episode_id });
    await form.post('/step', { action: LEFT, episode_id: 'a' });
    const states = await Promise.all(['a', 'b'].map((id) => form.ask(`/state?episode_id=${id}`)));
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
    ['an unknown episode', '/step', { action: LEFT, episode_id: 'absent' }, 404, /no such episode/],
    ['a step without action', '/step', {}, 422, /action/],
    ['a large message', '/step', 'x'.repeat(2 ** 20 + 1), 413, /large/],
    ['an unknown path', '/nowhere', {}, 404, /nowhere/],
  ])('refuses %s', async (_, path, body, status, detail) => {
    const reply = await form.post(path, body);
    expect(reply.status).toBe(status);
    expect(JSON.stringify(reply.body.detail)).toMatch(detail);
  });

  it('refuses an invalid action, and continues', async () => {
    await form.post('/reset', { seed: 3 });
    expect(await form.post('/step', { action: { action: 'clack' } })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['action'], msg: expect.stringContaining('clack') as string }] },
    });
    expect((await form.post('/step', { action: { ...LEFT, metadata: { any: 1 } } })).status).toBe(200);
  });

  it('says when all sessions are in use', async () => {
    for (const episode_id of ['a', 'b', 'c']) await form.post('/reset', { episode_id });
    expect((await form.post('/reset', { episode_id: 'd' })).status).toBe(503);
    expect((await form.post('/reset', { episode_id: 'a' })).status).toBe(200);
  });

  it('in production has no way to reset, step or see the state', async () => {
    const production = await serveEnvironments(form.episodes, { ...limits, mode: 'production' });
    const base = production.url;
    for (const path of ['/reset', '/step', '/state']) {
      expect((await form.ask(path, { base, method: path === '/state' ? 'GET' : 'POST' })).status).toBe(404);
    }
    const paths = Object.keys((await form.ask('/openapi.json', { base })).body.paths);
    expect(paths.filter((path) => ['/reset', '/step', '/state'].includes(path))).toEqual([]);
    expect((await form.ask('/health', { base })).status).toBe(200);
    await production.close();
  });
});

describe('OpenEnv over a WebSocket', () => {
  it('answers each message in its turn, and each mistake with its code', async () => {
    const { send, closed, ws } = await form.socket('/ws');
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
    await form.isLeft();
  });

  it('is one environment each, as many as there are sessions', async () => {
    const three = await Promise.all([1, 2, 3].map(() => form.socket('/ws')));
    await Promise.all(three.map(({ send }) => send({ type: 'reset', data: { seed: 3 } })));
    const fourth = await form.socket('/ws');
    expect(await fourth.next()).toMatchObject({
      type: 'error',
      data: { code: 'CAPACITY_REACHED', active_sessions: 3, max_sessions: 3 },
    });
    expect(await fourth.closed).toBe(1013);
    await three[0].send({ type: 'step', data: LEFT });
    const states = await Promise.all(three.map(({ send }) => send({ type: 'state' })));
    expect(states.map(({ data }) => data.step_count)).toEqual([1, 0, 0]);
    // A terminated connection also frees its slot.
    three[0].ws.terminate();
    await Promise.all(three.slice(1).map(({ leave }) => leave()));
    await form.isLeft();
  });

  it('takes calls of tools, as OpenEnv’s clients of tools send them', async () => {
    const { send, leave } = await form.socket('/ws');
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
    // Objects that cannot be converted to strings.
    const odd = { toString: 1, valueOf: 1 };
    expect(await send({ type: 'step', data: { ...call, tool_name: odd } })).toMatchObject({
      data: { observation: { tool_name: null, error: { error_type: 'tool_not_found' } } },
    });
    expect(await send({ type: odd })).toMatchObject({ type: 'error', data: { code: 'UNKNOWN_TYPE' } });
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await send({ type: 'mcp', data: rpc })).toMatchObject({
      type: 'mcp',
      data: { id: 1, result: {} },
    });
    await leave();
  });

  it('is closed where it sends without waiting, or too much', async () => {
    const impatient = await form.socket('/ws');
    for (let index = 0; index < 64; index += 1) impatient.ws.send('{"type":"reset"}');
    expect(await impatient.closed).toBe(1008);
    const talkative = await form.socket('/ws');
    talkative.ws.send('x'.repeat(2 ** 20 + 1));
    expect(await talkative.closed).toBe(1009);
    await form.isLeft();
  });

  it.each([
    [
      'answers',
      '/mcp',
      (ws: WebSocket, sent: (error?: Error) => void) =>
        ws.send(
          JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(2 ** 20 - 100), method: 'tools/list' }),
          sent,
        ),
    ],
    [
      'errors',
      '/ws',
      (ws: WebSocket, sent: (error?: Error) => void) =>
        ws.send(
          JSON.stringify({
            type: 'mcp',
            data: { jsonrpc: '2.0', id: 'x'.repeat(2 ** 20 - 100), method: '' },
          }),
          sent,
        ),
    ],
    [
      'pongs',
      '/ws',
      (ws: WebSocket, sent: (error?: Error) => void) => {
        for (let index = 1; index < 8_000; index += 1) ws.ping('x'.repeat(125));
        ws.ping('x'.repeat(125), true, sent);
      },
    ],
  ])('is cut off where it does not read its %s', async (_, path, send) => {
    const { ws } = await form.socket(path);
    ws.on('error', () => undefined).pause();
    const megabytes = 60;
    let sent = 0;
    for (let isCutOff = false; sent < megabytes && !isCutOff; sent += 1)
      isCutOff = await new Promise((resolve) => send(ws, (error) => resolve(error instanceof Error)));
    ws.terminate();
    expect(sent).toBeLessThan(megabytes);
    expect(sent).toBeGreaterThan(14);
    await form.isLeft();
  });
});

describe('tools over JSON-RPC', () => {
  const rpc = (method: string, params: object = {}) =>
    form.post('/mcp', { jsonrpc: '2.0', id: 'x', method, params });

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
    expect(form.sessionCount()).toBe(0);
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
    const reply = await form.post('/mcp', body);
    expect(reply).toMatchObject({ status: 200, body: { jsonrpc: '2.0', error: { code } } });
  });

  it('has an environment for each WebSocket, without a session', async () => {
    const { send, leave } = await form.socket('/mcp');
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
    await form.isLeft();
  });
});
