import { PluginError, Sessions, type Reply, type Task } from '@ui-rl/plugin-kit';
import { loadComponents } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { FakeUiVerifiers, type Fault } from '../test/server';
import uiVerifiers from './index';
import { UiVerifiersOptions } from './options';

const TASK: Task = { description: 'enter the rows', environment: { kind: 'ui-verifiers', options: {} } };
const TIMES = { leaseMs: 60_000, deadlineMs: 1_500 };

let one: FakeUiVerifiers;
let other: FakeUiVerifiers;
let proxy: FakeUiVerifiers;
let many: FakeUiVerifiers;
const running: Sessions[] = [];
const log: string[] = [];

beforeAll(async () => {
  [one, other, proxy, many] = await Promise.all([
    FakeUiVerifiers.start('one'),
    FakeUiVerifiers.start('one'),
    FakeUiVerifiers.start('proxy'),
    FakeUiVerifiers.start('many'),
  ]);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((sessions) => sessions.close()));
  for (const server of [one, other, proxy, many]) {
    server.faults = {};
    server.asked.length = 0;
    server.sessions.clear();
    server.authorizations.clear();
  }
  log.length = 0;
});
afterAll(() => Promise.all([one, other, proxy, many].map((server) => server.stop())));

async function environment(
  options: Partial<UiVerifiersOptions>,
  variables: Record<string, string> = {},
): Promise<Sessions> {
  const made = await uiVerifiers.create(
    Object.assign(new UiVerifiersOptions(), { delay_seconds: 0, max_answer_mb: 2, ...options }),
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

const open = (sessions: Sessions, deadlineMs = TIMES.deadlineMs) =>
  sessions.open({ task: TASK, seed: 1, ...TIMES, deadlineMs });

async function opened(sessions: Sessions): Promise<string> {
  return value(await open(sessions)).sessionId;
}

let steps = 0;
function step(sessions: Sessions, sessionId: string, action: object) {
  return sessions.step({ sessionId, stepId: `step-${steps++}`, action, deadlineMs: TIMES.deadlineMs });
}

function value<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}

/** The queries of `/act`, in order of arrival. */
function acted(server: FakeUiVerifiers): Record<string, string>[] {
  return server.asked
    .map((line) => new URL(line.split(' ')[1], 'http://server'))
    .filter(({ pathname }) => pathname.endsWith('/act'))
    .map(({ searchParams }) => Object.fromEntries(searchParams))
    .filter(({ action_type: type }) => type !== 'screenshot');
}

describe('an episode', () => {
  it.each([
    ['a server of one session', () => one.url, () => one],
    ['a session behind a proxy', () => `${proxy.url}/proxy/s-1/`, () => proxy],
    ['a server of many sessions', () => many.url, () => many],
  ])('is played at %s, and its state is what it has submitted', async (_, address, server) => {
    const sessions = await environment({ ui_env_urls: [address()] });
    const first = value(await open(sessions));
    expect(first).toMatchObject({
      screenshot: { width: 1280, height: 800 },
      state: { submitted_row_indices: [], num_incorrect_submissions: 0 },
    });
    const { sessionId } = first;
    expect(value(await step(sessions, sessionId, { action: 'click', x: 1279, y: 799 }))).toMatchObject({
      outcome: 'ok',
      done: false,
    });
    const typed = value(await step(sessions, sessionId, { action: 'type', text: '7' }));
    expect(typed.screenshot.sha256).not.toBe(first.screenshot.sha256);
    // After each action, so that rewards apply to the turn of the submission.
    expect(typed.state).toMatchObject({ submitted_row_indices: [7], num_incorrect_submissions: 0 });
    const wrong = value(await step(sessions, sessionId, { action: 'type', text: 'no row' }));
    expect(wrong.state).toMatchObject({ submitted_row_indices: [7], num_incorrect_submissions: 1 });
    expect(value(await sessions.inspect(sessionId, 1_000))).toMatchObject({ submitted_row_indices: [7] });
    expect(value(await step(sessions, sessionId, { action: 'finish', success: true })).done).toBe(true);
    expect(value(await sessions.closeSession(sessionId)).state).toEqual({
      submitted_row_indices: [7],
      num_incorrect_submissions: 1,
      num_submissions: 1,
    });
    expect(acted(server())).toEqual([
      { action_type: 'left_click', x: '1279', y: '799', delay: '0' },
      { action_type: 'type', text: '7', delay: '0' },
      { action_type: 'type', text: 'no row', delay: '0' },
    ]);
  });

  it('counts what it has submitted itself, at a server that has been used before', async () => {
    one.session().submitted.push(1, 2);
    one.session().incorrect = 4;
    const sessions = await environment({ ui_env_urls: [one.url] });
    const sessionId = await opened(sessions);
    value(await step(sessions, sessionId, { action: 'type', text: '2' }));
    expect(value(await sessions.closeSession(sessionId)).state).toMatchObject({
      submitted_row_indices: [2],
      num_incorrect_submissions: 0,
    });
  });

  it('deletes its session at a server of many, also where it is given up', async () => {
    const sessions = await environment({ ui_env_urls: [many.url] });
    value(await sessions.closeSession(await opened(sessions)));
    await opened(sessions);
    await sessions.close();
    expect([...many.sessions.values()].map((session) => session.open)).toEqual([false, false]);
  });

  it('waits with between_episodes: restart until its server was started anew', async () => {
    const sessions = await environment({ ui_env_urls: [one.url], between_episodes: 'restart' });
    value(await sessions.closeSession(await opened(sessions)));
    expect(await open(sessions)).toMatchObject({ ok: false, error: { code: 'capacity' } });
    one.startedAt = '2026-01-01 00:10:00';
    one.sessions.clear();
    // An episode that failed to start does not use up the session.
    one.faults = { '/progress': 'nonsense' };
    expect(await open(sessions)).toMatchObject({ ok: false });
    one.faults = {};
    await eventually('another episode', async () => (await open(sessions)).ok);
  });

  it('of a task with options is refused: addresses are not the task’s to name', async () => {
    const sessions = await environment({ ui_env_urls: [one.url] });
    const task = { ...TASK, environment: { kind: 'ui-verifiers', options: { ui_env_urls: [other.url] } } };
    expect(await sessions.open({ task, seed: 1, ...TIMES })).toMatchObject({
      ok: false,
      error: { code: 'bad_task', message: expect.stringContaining('ui_env_urls') as string },
    });
    expect(other.asked).toEqual([]);
  });

  it('of a task with a start is refused: a session begins as its server has it', async () => {
    const sessions = await environment({ ui_env_urls: [one.url] });
    expect(await sessions.open({ task: { ...TASK, start: { row: 3 } }, seed: 1, ...TIMES })).toMatchObject({
      ok: false,
      error: { code: 'bad_task', message: expect.stringContaining('start.row') as string },
    });
    expect(one.asked).toEqual([]);
  });

  it('is of the type of session that its task says', async () => {
    const play = async (address: string, type: unknown) => {
      const sessions = await environment({ ui_env_urls: [address], session_type: 'from_the_run_file' });
      const task = { ...TASK, environment: { kind: 'ui-verifiers', options: { session_type: type } } };
      return sessions.open({ task, seed: 1, ...TIMES });
    };
    value(await play(many.url, 'simple_data_entry'));
    value(await play(one.url, 'simple_data_entry'));
    // Its server has a single session, shared by all runs of a service.
    expect(await play(one.url, 'shop')).toMatchObject({ ok: false, error: { code: 'capacity' } });
    await Promise.all(running.splice(0).map((sessions) => sessions.close()));
    const refused = (message: string) => ({
      ok: false,
      error: { code: 'bad_task', message: expect.stringContaining(message) as string },
    });
    expect(await play(one.url, 'shop')).toMatchObject(
      refused(`the task is for a session of type shop, but ${one.url} has one of type simple_data_entry`),
    );
    expect(await play(one.url, '../x')).toMatchObject(refused('session_type of a task is a name'));
  });
});

describe('actions', () => {
  it('arrive as they were meant, each once', async () => {
    const sessions = await environment({ ui_env_urls: [one.url] });
    const sessionId = await opened(sessions);
    const text = `"It's" 100 % {"a": 1} & more? #1 + ü\n`;
    for (const action of [
      { action: 'type', text },
      { action: 'key', keys: ['ctrl', 'page_down'] },
      { action: 'key', keys: ['meta'] },
      { action: 'scroll', direction: 'up', amount: 6, x: 5, y: 6 },
      { action: 'scroll', direction: 'down', amount: 1 },
      { action: 'move', x: 0, y: 0 },
      { action: 'double_click', x: 1, y: 2 },
      { action: 'triple_click', x: 3, y: 4 },
      { action: 'right_click', x: 5, y: 6 },
    ]) {
      expect(value(await step(sessions, sessionId, action)).outcome).toBe('ok');
    }
    expect(acted(one)).toEqual([
      { action_type: 'type', text, delay: '0' },
      { action_type: 'keys', keys: 'ctrl+pagedown', delay: '0' },
      { action_type: 'keys', keys: 'win', delay: '0' },
      { action_type: 'scroll', direction: 'up', x: '5', y: '6', delay: '0' },
      { action_type: 'scroll', direction: 'up', x: '5', y: '6', delay: '0' },
      { action_type: 'scroll', direction: 'down', delay: '0' },
      { action_type: 'mouse_move', x: '0', y: '0', delay: '0' },
      { action_type: 'double_click', x: '1', y: '2', delay: '0' },
      { action_type: 'triple_click', x: '3', y: '4', delay: '0' },
      { action_type: 'right_click', x: '5', y: '6', delay: '0' },
    ]);
  });

  it.each([
    { action: 'drag', from: [1, 2], to: [3, 4] },
    { action: 'swipe', direction: 'up' },
    { action: 'long_press', x: 1, y: 2 },
    { action: 'middle_click', x: 1, y: 2 },
    { action: 'click', x: 1, y: 2, modifiers: ['ctrl'] },
    { action: 'mouse_down', x: 1, y: 2 },
    { action: 'key_down', key: 'shift' },
    { action: 'key', keys: ['a'], seconds: 2 },
    { action: 'button', button: 'home' },
    { action: 'scroll', direction: 'left', amount: 3 },
    { action: 'key', keys: ['ctrl', '+'] },
  ])('that servers cannot do are not sent and end nothing: %j', async (action) => {
    const sessions = await environment({ ui_env_urls: [one.url] });
    const sessionId = await opened(sessions);
    expect(value(await step(sessions, sessionId, action))).toMatchObject({
      outcome: 'unsupported_action',
      done: false,
    });
    expect(acted(one)).toEqual([]);
  });

  it('beyond the screen are not sent', async () => {
    const sessions = await environment({ ui_env_urls: [one.url] });
    const sessionId = await opened(sessions);
    expect(value(await step(sessions, sessionId, { action: 'click', x: 1280, y: 1 })).outcome).toBe(
      'outside_viewport',
    );
    expect(acted(one)).toEqual([]);
  });

  it('of a model that saw a picture of another size arrive at their place', async () => {
    const components = await loadComponents({ service: 'test' });
    const dialect = components.create('action-dialect', { name: 'ui_tars_1_5' }, {});
    const sizes = { screenshot: { width: 1280, height: 800 }, modelImage: { width: 1288, height: 812 } };
    const read = dialect.parse(`Thought: …\nAction: click(point='<point>1208 709</point>')`, sizes);
    if (!read.ok) throw new Error(read.correction);
    const sessions = await environment({ ui_env_urls: [one.url] });
    const sessionId = await opened(sessions);
    value(await step(sessions, sessionId, read.actions[0]));
    const [{ x, y }] = acted(one);
    // 1208 · 1280/1288 = 1200.5, 709 · 800/812 = 698.5
    expect([Math.abs(Number(x) - 1200.5), Math.abs(Number(y) - 698.5)].every((off) => off <= 1)).toBe(true);
  });
});

describe('a server that fails', () => {
  const cases: [Fault, string, RegExp][] = [
    ['dies', 'crashed', /cannot be reached/],
    ['hangs', 'deadline', /no answer in time|did not answer/],
    ['nonsense', 'crashed', /not a PNG/],
    ['large', 'crashed', /longer than/],
    ['breaks off', 'crashed', /breaks off/],
    ['redirects', 'crashed', /302/],
    [500, 'crashed', /500.*move mouse/],
  ];
  it.each(cases)(
    'in the middle (%s) ends the episode with %s, is not asked twice, and is set aside',
    async (fault, code, message) => {
      const sessions = await environment({ ui_env_urls: [one.url, other.url] });
      const sessionId = await opened(sessions);
      const [failing, standing] = one.asked.length > 0 ? [one, other] : [other, one];
      failing.faults = { '/act': fault };
      expect(await step(sessions, sessionId, { action: 'type', text: '1' })).toMatchObject({
        ok: false,
        error: { code, message: expect.stringMatching(message) as string },
      });
      expect(acted(failing)).toHaveLength(1);
      failing.asked.length = 0;
      await opened(sessions);
      expect([failing.asked, standing.asked.length > 0]).toEqual([[], true]);
      expect(await open(sessions)).toMatchObject({ ok: false, error: { code: 'capacity' } });
      expect(log.join()).toContain(`${failing.url} is set aside for 1 s`);
    },
  );

  it('is asked again after a while, longer each time', async () => {
    const sessions = await environment({ ui_env_urls: [one.url] });
    one.faults = { '/progress': 500 };
    expect(await open(sessions)).toMatchObject({ ok: false, error: { code: 'capacity' } });
    one.faults = {};
    expect(await open(sessions)).toMatchObject({
      error: {
        code: 'capacity',
        message: expect.stringMatching(/set aside for another 1 s .*500/) as string,
      },
    });
    await eventually('another try', async () => (await open(sessions)).ok);
  });

  it('before the first frame is passed over for the next one', async () => {
    const sessions = await environment({ ui_env_urls: [one.url, other.url] });
    one.faults = { '/': 'dies' };
    await opened(sessions);
    expect(other.asked.length).toBeGreaterThan(0);
  });

  it('and forgets what was submitted makes the episode invalid', async () => {
    one.session().submitted.push(1);
    const sessions = await environment({ ui_env_urls: [one.url] });
    const sessionId = await opened(sessions);
    one.sessions.clear();
    expect(await sessions.closeSession(sessionId)).toMatchObject({ ok: false, error: { code: 'crashed' } });
  });
});

describe('addresses', () => {
  it('are those of the machine where the run names none', async () => {
    const sessions = await environment({}, { UI_VERIFIERS_SERVERS: one.url });
    await opened(sessions);
    expect(one.asked.length).toBeGreaterThan(0);
  });

  it('are the machine’s to allow', async () => {
    const variables = { UI_VERIFIERS_SERVERS: proxy.url };
    await expect(environment({ ui_env_urls: [one.url] }, variables)).rejects.toThrow(
      new RegExp(`ui_env_urls: ${one.url} may not be asked here: UI_VERIFIERS_SERVERS .* ${proxy.url}`),
    );
    await opened(await environment({ ui_env_urls: [`${proxy.url}/proxy/a`] }, variables));
  });

  it('have to be named', async () => {
    await expect(environment({})).rejects.toThrow(PluginError);
    await expect(environment({}, { UI_VERIFIERS_SERVERS: 'one:8000' })).rejects.toThrow(/"one:8000"/);
    const keyless = environment({ ui_env_urls: [one.url] }, { UI_VERIFIERS_KEYS: 'secret' });
    await expect(keyless).rejects.toThrow(/http:\/\/host:port=key/);
  });

  it.each(['http://169.254.169.254', 'http://[fe80::1]:80', 'http://168.63.129.16'])(
    'of the link itself are refused: %s',
    async (address) => {
      const sessions = await environment({ ui_env_urls: [address] });
      expect(await open(sessions)).toMatchObject({
        ok: false,
        error: { message: expect.stringContaining('no run may name') as string },
      });
    },
  );

  it('get their own key and no other', async () => {
    const variables = { UI_VERIFIERS_KEYS: `${one.url}=key-of-one` };
    const sessions = await environment({ ui_env_urls: [one.url, other.url] }, variables);
    await Promise.all([opened(sessions), opened(sessions)]);
    expect([...one.authorizations]).toEqual(['Bearer key-of-one']);
    expect([...other.authorizations]).toEqual([undefined]);
  });
});
