import { hostname } from 'node:os';
import {
  completeOptions,
  type Action,
  type EnvironmentSession,
  type Reply,
  type Task,
} from '@ui-rl/plugin-kit';
import { eventually, FakePhone, TYPED_TEXTS } from '@ui-rl/testkit';
import { GboxServer } from '../test/gbox-server';
import { GboxEnvironment } from './environment';
import { GboxOptions } from './options';

let gbox: GboxServer;
const log: string[] = [];
let made: GboxEnvironment[] = [];

beforeEach(async () => {
  gbox = await GboxServer.start();
});
afterEach(async () => {
  gbox.faults = [];
  await Promise.all(made.map((each) => each.close()));
  made = [];
  expect(gbox.running.filter(({ config }) => config.labels['ui-rl'] === 'env')).toEqual([]);
  expect(log.join('\n')).not.toContain(gbox.key);
  await gbox.stop();
});

async function environment(
  given: Partial<GboxOptions> = {},
  variables = gbox.variables,
): Promise<GboxEnvironment> {
  const { options, problems } = completeOptions(GboxOptions, { delay_ms: 0, ...given }, { where: 'test' });
  expect(problems).toEqual([]);
  const context = {
    pages: {},
    maxSessions: 2,
    programs: {},
    variables,
    log: (_: string, message: string) => void log.push(message),
  };
  const environment = await GboxEnvironment.create(options, context);
  made.push(environment);
  return environment;
}

const within = (ms: number) => ({ deadlineAt: Date.now() + ms, signal: AbortSignal.timeout(ms) });
const task = (options: Record<string, unknown> = {}): Task => ({
  id: 'a',
  description: 'A task',
  environment: { kind: 'gbox', options },
});
const open = async (environment: GboxEnvironment, options = {}, ms = 10_000): Promise<EnvironmentSession> =>
  value(await environment.open({ task: task(options), seed: 1 }, within(ms)));

function value<T>(reply: Reply<T>): T {
  if (reply.ok) return reply.value;
  throw new Error(`${reply.error.code}: ${reply.error.message}`);
}

const WIFI = {
  start: { settings: { 'global wifi_on': 0 }, open: 'com.android.settings' },
  validators: [{ query: 'wifi_enabled', expected: true }],
};

it('plays a task in its own box, asks the box for the verdict, and ends it', async () => {
  gbox.pendingLooks = 2;
  const session = await open(await environment(), WIFI);
  const [box] = gbox.boxes;
  expect(gbox.calls('/android')).toEqual([
    {
      wait: true,
      config: {
        expiresIn: '60m',
        deviceType: 'virtual',
        labels: expect.objectContaining({ 'ui-rl': 'env', 'ui-rl-host': hostname().toLowerCase() }),
      },
    },
  ]);
  expect(session.state).toMatchObject({ box: box.id, validated: false });
  const [x, y] = box.phone.place('switch');
  const { screenshot, outcome } = value(await session.step({ action: 'click', x, y }, within(5_000)));
  expect(outcome).toBe('ok');
  expect(screenshot.sha256).not.toBe(session.screenshot.sha256);
  expect(value(await session.inspect!(within(5_000)))).toMatchObject({ validated: true });
  expect(value(await session.close(within(5_000)))).toMatchObject({
    validated: true,
    validations: [{ command: 'settings get global wifi_on', expected: '1 or 2', actual: '1', success: true }],
  });
  expect(box.status).toBe('terminated');
});

it('carries out the vocabulary in the words of GBox', async () => {
  const session = await open(await environment());
  const done = async (action: Action) => {
    gbox.done.length = 0;
    const { outcome } = value(await session.step(action, within(10_000)));
    return [outcome, ...gbox.done.map(({ call, body }) => [call.replace('/actions/', ''), body])];
  };
  expect(await done({ action: 'double_click', x: 1, y: 2 })).toEqual([
    'ok',
    ['click', { x: 1, y: 2, double: true }],
  ]);
  expect(await done({ action: 'long_press', x: 1, y: 2, seconds: 2 })).toEqual([
    'ok',
    ['long-press', { x: 1, y: 2, duration: '2000ms' }],
  ]);
  expect(await done({ action: 'type', text: 'a\n$(b)' })).toEqual([
    'ok',
    ['type', { text: 'a', mode: 'append', pressEnter: true }],
    ['type', { text: '$(b)', mode: 'append', pressEnter: false }],
  ]);
  expect(await done({ action: 'key', keys: ['ctrl', 'up'] })).toEqual([
    'ok',
    ['press-key', { keys: ['control', 'arrowUp'], combination: true }],
  ]);
  expect(await done({ action: 'button', button: 'recents' })).toEqual([
    'ok',
    ['press-button', { buttons: ['appSwitch'] }],
  ]);
  expect(await done({ action: 'scroll', direction: 'down', amount: 3 })).toEqual([
    'ok',
    ['scroll', { x: 45, y: 80, scrollX: 0, scrollY: 300 }],
  ]);
  expect(await done({ action: 'swipe', direction: 'left' })).toEqual([
    'ok',
    ['swipe', { start: { x: 45, y: 80 }, end: { x: 0, y: 80 } }],
  ]);
  expect(await done({ action: 'drag', from: [1, 2], to: [3, 4] })).toEqual([
    'ok',
    ['drag', { start: { x: 1, y: 2 }, end: { x: 3, y: 4 } }],
  ]);
  expect(await done({ action: 'drag', from: [1, 2], via: [[5, 6]], to: [3, 4] })).toEqual([
    'ok',
    [
      'drag',
      {
        path: [
          { x: 1, y: 2 },
          { x: 5, y: 6 },
          { x: 3, y: 4 },
        ],
      },
    ],
  ]);
  expect(await done({ action: 'right_click', x: 1, y: 2 })).toEqual(['unsupported_action']);
  expect(await done({ action: 'mouse_down', x: 1, y: 2 })).toEqual(['unsupported_action']);
  expect(await done({ action: 'key', keys: ['enter'], seconds: 1 })).toEqual(['unsupported_action']);
  expect(await done({ action: 'click', x: 1, y: 2, modifiers: ['ctrl'] })).toEqual(['unsupported_action']);
  expect(await done({ action: 'click', x: 1, y: 160 })).toEqual(['outside_viewport']);
});

it.each(TYPED_TEXTS)('types $text as every environment does', async ({ text, typed, outcome }) => {
  const session = await open(await environment());
  const step = value(await session.step({ action: 'type', text }, within(10_000)));
  const KEYS: Record<string, string> = { enter: '\n', tab: '\t' };
  const arrived = gbox.done.flatMap(({ call, body }) => {
    if (call === '/actions/press-key') return (body.keys as string[]).map((key) => KEYS[key]);
    return call === '/actions/type' ? [String(body.text), body.pressEnter === true ? '\n' : ''] : [];
  });
  expect({ typed: arrived.join(''), outcome: step.outcome }).toEqual({ typed, outcome });
  await session.discard();
});

it('a text that takes longer than there is time is cut short, and the episode continues', async () => {
  const session = await open(await environment());
  // Slightly more than the time reserved for the screenshot.
  const typing = session.step({ action: 'type', text: '\n'.repeat(2_000) }, within(5_100));
  expect(value(await typing).outcome).toBe('cut_short');
  const pressed = gbox.calls('/actions/press-key').length;
  expect(pressed).toBeGreaterThan(0);
  expect(pressed).toBeLessThan(2_000);
  const next = value(await session.step({ action: 'click', x: 1, y: 2 }, within(5_000)));
  expect(next.outcome).toBe('ok');
  await session.discard();
});

it('a finger stays down no longer than there is time', async () => {
  const session = await open(await environment());
  const long = { action: 'long_press', x: 1, y: 2, seconds: 60 } as const;
  expect(value(await session.step(long, within(6_000))).outcome).toBe('wait_cut_short');
  const [{ duration }] = gbox.calls('/actions/long-press');
  expect(Number.parseInt(String(duration), 10)).toBeLessThanOrEqual(1_000);
  expect(value(await session.step({ ...long, seconds: 0.5 }, within(10_000))).outcome).toBe('ok');
  expect(gbox.calls('/actions/long-press')[1]).toMatchObject({ duration: '500ms' });
  await session.discard();
});

it('plays Linux, which is asked for files only', async () => {
  const linux = await environment({ box_type: 'linux' });
  const session = await open(linux, { validators: [{ file: '/tmp/a', exists: false }] });
  expect(session.state).toMatchObject({ validated: true });
  value(await session.step({ action: 'right_click', x: 1, y: 2 }, within(5_000)));
  expect(gbox.calls('/actions/click')).toEqual([{ x: 1, y: 2, button: 'right' }]);
  expect(gbox.calls('/linux')[0]).not.toHaveProperty('config.deviceType');
  await session.discard();
  const wrong = await linux.open({ task: task({ validators: [{ focus: 'a.b' }] }), seed: 1 }, within(5_000));
  expect(wrong).toMatchObject({
    ok: false,
    error: { code: 'bad_task', message: expect.stringContaining('files only') },
  });
});

it.each(['done and cut', 'cut', { status: 500 }, { status: 504 }] as const)(
  'an action whose answer was lost (%j) is not sent again: the episode is over, and its box too',
  async (fault) => {
    const session = await open(await environment());
    gbox.faults = [{ path: /actions\/tap$/, fault }];
    const reply = await session.step({ action: 'click', x: 1, y: 2 }, within(5_000));
    expect(reply).toMatchObject({ ok: false, error: { code: 'crashed' } });
    expect(gbox.requests.filter((request) => request.endsWith('/actions/tap'))).toHaveLength(1);
    await session.discard();
    expect(gbox.running).toEqual([]);
  },
);

it('repeats requests that were refused for their rate, and requests that only read', async () => {
  const session = await open(await environment());
  gbox.faults = [
    { path: /actions\/tap$/, fault: { status: 429 } },
    { path: /actions\/screenshot$/, fault: { status: 503 } },
    { path: /actions\/screenshot$/, fault: 'cut' },
  ];
  expect(value(await session.step({ action: 'click', x: 1, y: 2 }, within(10_000))).outcome).toBe('ok');
  expect(gbox.calls('/actions/tap')).toHaveLength(1);
});

it('ends a box whose creation was never answered', async () => {
  const own = await environment();
  gbox.faults = [{ path: /POST \/boxes\/android/, fault: 'done and cut' }];
  expect(await own.open({ task: task(), seed: 1 }, within(5_000))).toMatchObject({
    ok: false,
    error: { code: 'crashed' },
  });
  expect(gbox.boxes).toHaveLength(1);
  await eventually('the box to be ended', () => gbox.boxes[0].status === 'terminated');
});

it('says that there is no room, and keeps its deadline', async () => {
  const own = await environment();
  gbox.faults = [{ path: /POST \/boxes\/android/, fault: { status: 402, body: '{"message":"quota"}' } }];
  expect(await own.open({ task: task(), seed: 1 }, within(5_000))).toMatchObject({
    ok: false,
    error: { code: 'capacity' },
  });
  gbox.faults = [{ path: /POST \/boxes\/android/, fault: 'never answered' }];
  const began = performance.now();
  expect(await own.open({ task: task(), seed: 1 }, within(300))).toMatchObject({
    ok: false,
    error: { code: 'deadline' },
  });
  expect(performance.now() - began).toBeLessThan(2_000);
});

it('a box that ended in the middle gives no verdict', async () => {
  const session = await open(await environment(), WIFI);
  gbox.boxes[0].status = 'terminated'; // its lifetime is over
  expect(await session.step({ action: 'click', x: 1, y: 2 }, within(5_000))).toMatchObject({ ok: false });
  expect(await session.close(within(5_000))).toMatchObject({ ok: false, error: { code: 'crashed' } });
});

/** A phone without a window manager. */
class Windowless extends FakePhone {
  override run(command: string) {
    return super.run(command.replace(/^dumpsys window\b/, 'dumpsys absent'));
  }
}

it('a box that does not report the focus gives no verdict', async () => {
  const session = await open(await environment(), WIFI);
  gbox.boxes[0].phone = new Windowless();
  expect(await session.close(within(5_000))).toMatchObject({
    ok: false,
    error: { code: 'crashed', message: expect.stringContaining('dumpsys window') },
  });
});

it('ends what processes of this host left behind, and nothing else', async () => {
  const host = hostname().toLowerCase();
  const gone = gbox.add({
    labels: { 'ui-rl': 'env', 'ui-rl-host': host, 'ui-rl-process': '999999999-0badcafe' },
  });
  const before = gbox.add({
    labels: { 'ui-rl': 'env', 'ui-rl-host': host, 'ui-rl-process': `${process.pid}-0badcafe` },
  });
  const foreign: Record<string, string>[] = [
    { 'ui-rl': 'env', 'ui-rl-host': `${host}-2`, 'ui-rl-process': '999999999-0badcafe' },
    { 'ui-rl-host': host, 'ui-rl-process': '999999999-0badcafe' },
    { project: 'mine' },
  ];
  const others = foreign.map((labels) => gbox.add({ labels }));
  const alive = gbox.add({
    labels: { 'ui-rl': 'env', 'ui-rl-host': host, 'ui-rl-process': `${process.ppid}-0badcafe` },
  });
  await environment();
  expect([gone, before].map(({ status }) => status)).toEqual(['terminated', 'terminated']);
  expect([...others, alive].map(({ status }) => status)).toEqual([
    'running',
    'running',
    'running',
    'running',
  ]);
  gbox.boxes.length = 0;
});

it.each(['asked for', 'refused'] as const)(
  'ends what a process left behind that stops its boxes; boxes that are stopped may be %s',
  async (stopped) => {
    const labels = {
      'ui-rl': 'env',
      'ui-rl-host': hostname().toLowerCase(),
      'ui-rl-process': '999999999-0badcafe',
    };
    const boxes = [gbox.add({ labels }), gbox.add({ labels, status: 'stopped' })];
    if (stopped === 'refused') {
      gbox.faults = [{ path: /GET .*status=[^&]*stopped/, fault: { status: 400 } }];
    }
    await environment();
    expect(boxes.map(({ status }) => status)).toEqual([
      'terminated',
      stopped === 'refused' ? 'stopped' : 'terminated',
    ]);
  },
);

it('leaves the boxes of other environments of this process alone, when it begins and when it is closed', async () => {
  const session = await open(await environment());
  const other = await environment();
  await other.close();
  expect(gbox.boxes[0].status).toBe('running');
  expect(await session.step({ action: 'click', x: 1, y: 2 }, within(5_000))).toMatchObject({ ok: true });
  await session.discard();
});

it.each(['keep', 'stop'] as const)(
  'with after_episode: %s the next episode gets the box, as long as it has time left',
  async (after) => {
    const own = await environment({ after_episode: after });
    const first = await open(own);
    await first.close(within(5_000));
    const [box] = gbox.boxes;
    expect(box.status).toBe(after === 'keep' ? 'running' : 'stopped');
    const second = await open(own);
    expect(second.state).toMatchObject({ box: box.id });
    await second.close(within(5_000));
    await eventually('the box to be back', () => box.status === (after === 'keep' ? 'running' : 'stopped'));
    box.expiresAt = new Date().toISOString();
    const third = await open(own);
    expect(third.state?.box).not.toBe(box.id);
    expect(box.status).toBe('terminated');
    await third.discard();
  },
);

it.each(['keep', 'stop'] as const)(
  'with after_episode: %s a box that does not answer in time is ended',
  async (after) => {
    const own = await environment({ after_episode: after });
    await (await open(own)).close(within(5_000));
    const [box] = gbox.boxes;
    const path = after === 'keep' ? /GET \/boxes\/[^/]+$/ : /\/start$/;
    gbox.faults = [{ path, fault: 'never answered' }];
    const reply = await own.open({ task: task(), seed: 1 }, within(300));
    expect(reply).toMatchObject({ ok: false, error: { code: 'deadline' } });
    expect(box.status).toBe('terminated');
  },
);

it('hides the key, also from servers that tell it or send it on', async () => {
  const own = await environment();
  gbox.faults = [
    { path: /POST \/boxes\/android/, fault: { status: 400, body: `{"message":"Bearer ${gbox.key}"}` } },
  ];
  const told = await own.open({ task: task(), seed: 1 }, within(5_000));
  expect(told).toMatchObject({ ok: false, error: { message: expect.stringContaining('Bearer [hidden]') } });
  gbox.faults = [{ path: /POST \/boxes\/android/, fault: { status: 307 } }];
  const redirected = await own.open({ task: task(), seed: 1 }, within(5_000));
  expect(redirected).toMatchObject({ ok: false, error: { code: 'crashed' } });
  expect(JSON.stringify([told, redirected])).not.toContain(gbox.key);
});

it('says what is wrong with its key and address', async () => {
  const { GBOX_BASE_URL } = gbox.variables;
  await expect(environment({}, { GBOX_BASE_URL })).rejects.toThrow(
    'GBOX_API_KEY of the env service is not set',
  );
  const refused = environment({}, { GBOX_BASE_URL, GBOX_API_KEY: 'other_key' });
  await expect(refused).rejects.toThrow(/401 .*Is GBOX_API_KEY of the env service right\?/);
  await expect(refused).rejects.not.toThrow('other_key');
  await expect(environment({}, { GBOX_API_KEY: 'k', GBOX_BASE_URL: 'http://gbox.ai/' })).rejects.toThrow(
    'GBOX_BASE_URL',
  );
});
