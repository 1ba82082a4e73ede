import { PluginError, Sessions, type Reply, type Task } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import sharp from 'sharp';
import { FakeOpenEnv, pixels, type Fault } from '../test/server';
import { openEnv } from './index';
import { OpenEnvOptions } from './options';

const TIMES = { leaseMs: 60_000, deadlineMs: 1_500 };

let one: FakeOpenEnv;
let other: FakeOpenEnv;
let usual: Pick<FakeOpenEnv, 'action' | 'observe'>;
const running: Sessions[] = [];
const log: string[] = [];

beforeAll(async () => {
  [one, other] = await Promise.all([FakeOpenEnv.start(), FakeOpenEnv.start()]);
  usual = { action: one.action, observe: one.observe };
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((sessions) => sessions.close()));
  for (const server of [one, other]) {
    Object.assign(server, usual, { faults: {} });
    server.actions.length = 0;
    server.resets.length = 0;
  }
  log.length = 0;
});
afterAll(() => Promise.all([one, other].map((server) => server.stop())));

async function environment(
  options: Partial<OpenEnvOptions> = {},
  variables: Record<string, string> = {},
): Promise<Sessions> {
  const made = await openEnv.create(
    Object.assign(new OpenEnvOptions(), { servers: [one.url], max_answer_mb: 1, ...options }),
    {
      pages: {},
      maxSessions: 8,
      programs: {},
      variables,
      log: (level, message) => void log.push(`${level} ${message}`),
    },
  );
  const sessions = new Sessions(made, { maxSessions: 8 });
  running.push(sessions);
  return sessions;
}

function open(sessions: Sessions, options: Record<string, unknown> = {}, start?: Record<string, unknown>) {
  const task: Task = { description: 'play', environment: { kind: 'openenv', options }, start };
  return sessions.open({ task, seed: 5, ...TIMES });
}

let steps = 0;
function step(sessions: Sessions, sessionId: string, action: object) {
  return sessions.step({ sessionId, stepId: `step-${steps++}`, action, deadlineMs: TIMES.deadlineMs });
}

function value<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}

describe('an episode', () => {
  it('is played with BrowserGym’s actions, pictures and rewards', async () => {
    const sessions = await environment();
    const first = value(await open(sessions, { reset: { task_name: 'click-left' } }));
    expect(one.resets).toEqual([{ task_name: 'click-left', seed: 5 }]);
    expect(first).toMatchObject({
      screenshot: { width: 32, height: 24 },
      state: { reward: 0, done: false, observation: { goal: 'Click the left half' } },
    });
    expect(first.state?.observation).not.toHaveProperty('screenshot');
    const { data } = await sharp(first.screenshot.png).raw().toBuffer({ resolveWithObject: true });
    expect([...data.subarray(0, 3)]).toEqual([0, 100, 200]);
    const { sessionId } = first;
    const clicked = value(await step(sessions, sessionId, { action: 'click', x: 3, y: 4 }));
    expect(clicked).toMatchObject({ outcome: 'ok', done: false, state: { reward: 0.5 } });
    expect(clicked.screenshot.sha256).not.toBe(first.screenshot.sha256);
    value(await step(sessions, sessionId, { action: 'type', text: `it's "1"\n\\` }));
    const last = value(await step(sessions, sessionId, { action: 'key', keys: ['ctrl', 'page_down'] }));
    expect(last).toMatchObject({ done: true, state: { reward: 0.5, done: true } });
    expect(value(await sessions.closeSession(sessionId)).state).toMatchObject({
      reward: 0.5,
      state: { step_count: 3, cum_reward: 0.5 },
    });
    expect(one.actions).toEqual([
      { action_str: 'mouse_click(3, 4)' },
      { action_str: String.raw`keyboard_type("it's \"1\"\n\\")` },
      { action_str: 'keyboard_press("Control+PageDown")' },
    ]);
    await eventually('the end of the socket', () => one.open === 0);
  });

  it('holds keys with further calls, or not at all', async () => {
    const click = { action: 'click', x: 3, y: 4, modifiers: ['ctrl', 'shift'] };
    const sessions = await environment();
    const { sessionId: held } = value(await open(sessions));
    value(await step(sessions, held, click));
    expect(one.actions.slice(0, 3)).toEqual([
      { action_str: 'keyboard_down("Control")' },
      { action_str: 'keyboard_down("Shift")' },
      { action_str: 'mouse_click(3, 4)' },
    ]);
    for (const action of [
      { action: 'window', number: 2 },
      { action: 'window', change: 'close' },
    ])
      expect(value(await step(sessions, held, action)).outcome).toBe('ok');
    expect(value(await step(sessions, held, { action: 'window', change: 'next' })).outcome).toBe(
      'unsupported_action',
    );
    expect(one.actions.slice(-2)).toEqual([{ action_str: 'tab_focus(1)' }, { action_str: 'tab_close()' }]);
    const played = one.actions.length;
    await sessions.close();
    const plain = await environment({ actions: 'templates', templates: { click: { at: ['$x', '$y'] } } });
    const { sessionId } = value(await open(plain));
    expect(value(await step(plain, sessionId, click)).outcome).toBe('unsupported_action');
    expect(one.actions).toHaveLength(played);
  });

  it('begins as its task says, by reset of its options or by start', async () => {
    const sessions = await environment();
    value(await open(sessions, { reset: { task_name: 'a', level: 1 } }, { level: 2 }));
    expect(one.resets).toEqual([{ task_name: 'a', level: 2, seed: 5 }]);
    expect(await open(sessions, {}, { seed: 1 })).toMatchObject({ ok: false, error: { code: 'bad_task' } });
  });

  it('finds a picture within a part of the observation, whose other fields stay in the state', async () => {
    one.observe = (at) => ({
      screens: [{ png: pixels(32, 24, [at * 20, 100, 200]), title: 'Shop' }],
      ...(at === 1 ? { last_action_error: true } : {}),
    });
    const sessions = await environment({ picture: 'screens.0.png' });
    const first = value(await open(sessions));
    expect(first.screenshot).toMatchObject({ width: 32, height: 24 });
    expect(first.state?.observation).toEqual({ screens: [{ title: 'Shop' }] });
    // An error with a picture shows the current screen.
    const failed = value(await step(sessions, first.sessionId, { action: 'click', x: 3, y: 4 }));
    expect(failed.outcome).toBe('action_failed');
    expect(failed.screenshot.sha256).not.toBe(first.screenshot.sha256);
  });

  it('tells policies the text of an observation, beside its picture or instead of it', async () => {
    one.observe = () => ({
      screenshot: pixels(32, 24, [0, 100, 200]),
      axtree_txt: "RootWebArea 'Page'\n\t[1] button 'Go'\u0007",
    });
    const text = "RootWebArea 'Page'\n\t[1] button 'Go'";
    const both = await environment({ observation: 'both', text: 'axtree_txt' });
    const { sessionId, screenshot } = value(await open(both));
    expect(screenshot).toMatchObject({ width: 32, height: 24, text });
    expect(screenshot.textOnly).toBeUndefined();
    const clicked = value(await step(both, sessionId, { action: 'click', x: 3, y: 4 }));
    expect(clicked.screenshot.text).toBe(text);
    await both.close();
    const alone = await environment({ observation: 'text', text: 'axtree_txt' });
    expect(value(await open(alone)).screenshot).toMatchObject({ width: 32, text, textOnly: true });
    await alone.close();
    expect(value(await open(await environment())).screenshot.text).toBeUndefined();
  });

  it('does nothing for actions that the format has no word for', async () => {
    const sessions = await environment();
    const { sessionId } = value(await open(sessions));
    for (const action of [
      { action: 'triple_click', x: 1, y: 1 },
      { action: 'button', button: 'home' },
    ]) {
      expect(value(await step(sessions, sessionId, action))).toMatchObject({
        outcome: 'unsupported_action',
        done: false,
      });
    }
    expect(value(await step(sessions, sessionId, { action: 'finish', success: true })).done).toBe(true);
    expect(one.actions).toEqual([]);
  });

  it('hears that the policy has finished, if the format has a word for it', async () => {
    const sessions = await environment({ actions: 'templates', templates: { finish: { over: '$success' } } });
    const { sessionId, takesFinish } = value(await open(sessions));
    expect(takesFinish).toBe(true);
    expect(value(await step(sessions, sessionId, { action: 'finish', success: true })).done).toBe(true);
    expect(one.actions).toEqual([{ over: true }]);
  });

  it('says so where the environment has refused an action, and where it has failed', async () => {
    const sessions = await environment();
    const { sessionId } = value(await open(sessions));
    one.observe = () => ({ screenshot: null, last_action_error: true, error: 'no such place' });
    const failed = value(await step(sessions, sessionId, { action: 'click', x: 1, y: 1 }));
    expect(failed).toMatchObject({ outcome: 'action_failed', screenshot: { width: 32, height: 24 } });
    one.faults = { step: { type: 'error', data: { code: 'VALIDATION_ERROR', message: 'Invalid message' } } };
    expect(value(await step(sessions, sessionId, { action: 'click', x: 1, y: 1 })).outcome).toBe(
      'action_refused',
    );
  });

  it('is played in its own words, on a screen of its text, where there is no picture', async () => {
    one.action = { type: 'object', properties: { message: {} } };
    one.observe = (at) => ({ echoed: `<${at}> & "more"` });
    const sessions = await environment({
      templates: { type: { message: '$text', note: 'typed: $text' } },
      text: 'echoed',
    });
    const first = value(await open(sessions));
    expect(first.screenshot).toMatchObject({ width: 640, height: 480 });
    const typed = value(await step(sessions, first.sessionId, { action: 'type', text: 'hi' }));
    expect(one.actions).toEqual([{ message: 'hi', note: 'typed: hi' }]);
    expect(typed.screenshot.sha256).not.toBe(first.screenshot.sha256);
    const { channels } = await sharp(typed.screenshot.png).stats();
    expect(channels[0].min).toBeLessThan(100);
    expect(value(await step(sessions, first.sessionId, { action: 'click', x: 1, y: 1 })).outcome).toBe(
      'unsupported_action',
    );
  });

  it.each([
    [{ url: 'http://elsewhere' }, /no option "url"/],
    [{ reset: 'now' }, /an object/],
    [{ reset: { seed: 1 } }, /without "seed"/],
  ])('of a task with %j is refused', async (options, message) => {
    const sessions = await environment();
    expect(await open(sessions, options)).toMatchObject({
      ok: false,
      error: { code: 'bad_task', message: expect.stringMatching(message) as string },
    });
  });

  it('is refused if no option says how to write actions', async () => {
    one.action = { type: 'object', properties: { move: {} } };
    expect(await open(await environment())).toMatchObject({
      ok: false,
      error: { code: 'bad_task', message: expect.stringContaining('move') as string },
    });
  });

  it('is refused over HTTP where the server forgets it between requests', async () => {
    expect(await open(await environment({ transport: 'http' }))).toMatchObject({
      ok: false,
      error: { code: 'bad_task', message: expect.stringContaining('transport: websocket') as string },
    });
  });
});

describe('a server that fails', () => {
  const cases: [string, Fault, string, RegExp][] = [
    ['dies', 'dies', 'crashed', /closed/],
    ['hangs', 'hangs', 'deadline', /in time|did not answer/],
    ['answers nonsense', 'nonsense', 'crashed', /expected \{observation/],
    ['answers no JSON', 'no JSON', 'crashed', /JSON/],
    ['answers too much', 'large', 'crashed', /payload/i],
    ['answers another question', { type: 'state', data: {} }, 'crashed', /expected "observation"/],
    [
      'says so',
      { type: 'error', data: { code: 'EXECUTION_ERROR', message: 'no\u0007pe' } },
      'crashed',
      /EXECUTION_ERROR: no pe/,
    ],
    [
      'shows no rectangle',
      {
        type: 'observation',
        data: { observation: { screenshot: [[[1, 2, 3]], []] }, reward: 0, done: false },
      },
      'crashed',
      /not a rectangle/,
    ],
    [
      'shows more than pixels have',
      {
        type: 'observation',
        data: { observation: { screenshot: pixels(1, 1, [256, 0, 0]) }, reward: 0, done: false },
      },
      'crashed',
      /0 to 255/,
    ],
    [
      'pays no number',
      { type: 'observation', data: { observation: {}, reward: 'much', done: false } },
      'crashed',
      /expected \{observation/,
    ],
  ];
  it.each(cases)(
    'in the middle (%s) ends the episode, which is not played on, and is set aside',
    async (_, fault, code, message) => {
      const sessions = await environment({ servers: [one.url, other.url] });
      const { sessionId } = value(await open(sessions));
      const [failing, standing] = one.resets.length > 0 ? [one, other] : [other, one];
      failing.faults = { step: fault };
      expect(await step(sessions, sessionId, { action: 'click', x: 1, y: 1 })).toMatchObject({
        ok: false,
        error: { code, message: expect.stringMatching(message) as string },
      });
      expect(failing.actions).toHaveLength(1);
      failing.resets.length = 0;
      value(await open(sessions));
      expect([failing.resets.length, standing.resets.length]).toEqual([0, 1]);
      expect(await open(sessions)).toMatchObject({ ok: false, error: { code: 'capacity' } });
      expect(log.join()).toContain(`${failing.url} is set aside`);
      await eventually('the end of the socket', () => failing.open === 0);
    },
  );

  it('that sends what was not asked for ends the episode, and is cut off', async () => {
    const sessions = await environment({ servers: [one.url] });
    const { sessionId } = value(await open(sessions));
    one.faults = { step: 'floods' };
    await step(sessions, sessionId, { action: 'click', x: 1, y: 1 });
    await eventually('the end of the socket', () => one.open === 0);
    expect(await step(sessions, sessionId, { action: 'click', x: 1, y: 1 })).toMatchObject({
      ok: false,
      error: { code: 'crashed', message: expect.stringContaining('sent more than 8 messages') as string },
    });
  });

  it('before the first frame is passed over', async () => {
    one.faults = { '/health': 'dies' };
    const sessions = await environment({ servers: [one.url, other.url] });
    const task: Task = { description: 'play', environment: { kind: 'openenv', options: {} } };
    value(await sessions.open({ task, seed: 5, leaseMs: 60_000, deadlineMs: 10_000 }));
    expect([one.resets.length, other.resets.length]).toEqual([0, 1]);
  });

  it('is not set aside where it only has no room', async () => {
    one.faults = { reset: { type: 'error', data: { code: 'CAPACITY_REACHED', message: 'full' } } };
    const sessions = await environment();
    expect(await open(sessions)).toMatchObject({ ok: false, error: { code: 'capacity' } });
    one.faults = {};
    value(await open(sessions));
  });
});

describe('servers', () => {
  it('are the machine’s to allow, and to name where the run does not', async () => {
    const variables = { OPENENV_SERVERS: one.url };
    await expect(environment({ servers: [other.url] }, variables)).rejects.toThrow(/OPENENV_SERVERS/);
    await expect(environment({ servers: [] })).rejects.toThrow(PluginError);
    value(await open(await environment({ servers: [] }, variables)));
  });

  it('at addresses of the link are refused', async () => {
    const sessions = await environment({ servers: ['http://169.254.169.254'] });
    expect(await open(sessions)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('no run may name') as string },
    });
  });
});
