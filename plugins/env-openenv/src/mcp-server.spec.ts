import { Sessions, type Reply, type Task } from '@ui-rl/plugin-kit';
import { McpDesktop } from '../test/desktop';
import { mcp } from './index';
import { McpOptions } from './options';

const TIMES = { leaseMs: 60_000, deadlineMs: 3_000 };
const TOOLS: Partial<McpOptions> = {
  tools: {
    click: { name: 'click', arguments: { x: '$x', y: '$y' } },
    type: { name: 'type_text', arguments: { text: '$text' } },
    key: { name: 'press', arguments: { keys: '$chord' } },
  },
  begin: { name: 'open', arguments: { app: '$app', seed: '$seed' } },
  every_call: { window: '$window' },
  end: { name: 'quit' },
};

let desktop: McpDesktop;
const running: Sessions[] = [];
beforeAll(async () => (desktop = await McpDesktop.start()));
afterEach(async () => {
  await Promise.all(running.splice(0).map((sessions) => sessions.close()));
  desktop.calls.length = 0;
  desktop.fault = undefined;
});
afterAll(() => desktop.stop());

async function environment(options: Partial<McpOptions> = TOOLS): Promise<Sessions> {
  const context = { pages: {}, maxSessions: 8, programs: {}, variables: {}, log: () => undefined };
  const made = await mcp.create(
    Object.assign(new McpOptions(), { servers: [desktop.url], ...options }),
    context,
  );
  const sessions = new Sessions(made, { maxSessions: 8 });
  running.push(sessions);
  return sessions;
}

let steps = 0;
const step = (sessions: Sessions, sessionId: string, action: object) =>
  sessions.step({ sessionId, stepId: `step-${steps++}`, action, deadlineMs: TIMES.deadlineMs });
function open(sessions: Sessions, options: object = {}) {
  const task: Task = {
    description: 'play',
    environment: { kind: 'mcp', options: { reset: { app: 'notes' }, ...options } },
  };
  return sessions.open({ task, seed: 5, ...TIMES });
}
function value<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}

it('plays an episode with the tools of a server', async () => {
  const sessions = await environment();
  const first = value(await open(sessions));
  expect(first).toMatchObject({
    screenshot: { width: 32, height: 24 },
    state: { observation: { goal: 'Type hello' } },
  });
  const clicked = value(await step(sessions, first.sessionId, { action: 'click', x: 3, y: 4 }));
  expect(clicked).toMatchObject({ outcome: 'ok', done: false });
  expect(clicked.screenshot.sha256).not.toBe(first.screenshot.sha256);
  const typed = value(await step(sessions, first.sessionId, { action: 'type', text: 'hello' }));
  expect(typed).toMatchObject({ done: true, state: { reward: 1, done: true } });
  value(await sessions.closeSession(first.sessionId));
  expect(desktop.calls.filter(({ name }) => name !== 'screenshot')).toEqual([
    { name: 'open', arguments: { app: 'notes', seed: 5 } },
    { name: 'click', arguments: { x: 3, y: 4, window: 'w1' } },
    { name: 'type_text', arguments: { text: 'hello', window: 'w1' } },
    { name: 'quit', arguments: { window: 'w1' } },
  ]);
});

it('reports to the policy what a tool refuses, and what no tool does', async () => {
  const sessions = await environment();
  const { sessionId } = value(await open(sessions));
  expect(value(await step(sessions, sessionId, { action: 'type', text: '' }))).toMatchObject({
    outcome: 'action_refused',
  });
  expect(value(await step(sessions, sessionId, { action: 'wait', seconds: 1 }))).toMatchObject({
    outcome: 'unsupported_action',
  });
});

it.each<[string, NonNullable<McpDesktop['fault']>, string, RegExp]>([
  [
    'a redirect',
    (response) => response.writeHead(302, { location: 'http://example.com' }).end(),
    'crashed',
    /mcp answered/,
  ],
  [
    'nonsense',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
    'crashed',
    /mcp/,
  ],
  [
    'an endless answer',
    (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n'),
    'deadline',
    /within 3000 ms|in time/,
  ],
])('ends an episode whose server answers with %s', async (_, fault, code, message) => {
  const sessions = await environment();
  const { sessionId } = value(await open(sessions));
  desktop.fault = fault;
  const reply = await step(sessions, sessionId, { action: 'click', x: 1, y: 1 });
  expect(reply).toMatchObject({ ok: false, error: { code, message: expect.stringMatching(message) } });
});

describe('a task that names its servers', () => {
  it('is played at no other server of the run file', async () => {
    const other = await McpDesktop.start();
    try {
      const sessions = await environment({
        ...TOOLS,
        servers: [other.url, desktop.url],
        sessions_per_server: 2,
      });
      for (let episode = 0; episode < 2; episode += 1)
        value(await open(sessions, { servers: [`${desktop.url}/`] }));
      expect(other.calls).toEqual([]);
      expect(await open(sessions, { servers: [desktop.url] })).toMatchObject({
        ok: false,
        error: { code: 'capacity' },
      });
      value(await open(sessions));
      expect(other.calls[0]).toMatchObject({ name: 'open' });
    } finally {
      await other.stop();
    }
  });

  it.each([
    [
      ['http://127.0.0.1:9/mcp'],
      /played at http:\/\/127\.0\.0\.1:9\/mcp, which the environment does not name: .*\/mcp/,
    ],
    [[], /servers of a task is \[\], expected a list of addresses/],
    ['http://127.0.0.1:9/mcp', /servers of a task is "http:.*", expected a list of addresses/],
    [[7], /expected a list of addresses/],
  ])('is refused if they are %j', async (servers, message) => {
    const reply = await open(await environment(), { servers });
    expect(reply).toMatchObject({
      ok: false,
      error: { code: 'bad_task', message: expect.stringMatching(message) },
    });
  });
});

it('tells why no episode begins', async () => {
  desktop.fault = (response) => response.writeHead(404).end('nothing here');
  const reply = await open(await environment());
  expect(reply).toMatchObject({ ok: false, error: { message: expect.stringMatching(/404|nothing here/) } });
});
