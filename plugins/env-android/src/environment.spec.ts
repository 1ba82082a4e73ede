import { isRecord, type EnvironmentSession } from '@ui-rl/plugin-kit';
import { Adb, FakeAdbd, FakePhone, FaultyProxy, TYPED_TEXTS } from '@ui-rl/testkit';
import { act, code, environment, open, Phone, task, value, warnings, within } from '../test/support';
import type { AndroidEnvironment } from './environment';
import type { AndroidOptions } from './options';

let adb: Adb;
const phones: FakeAdbd[] = [];

beforeAll(async () => {
  adb = await Adb.start();
  for (let i = 0; i < 2; i += 1) phones.push(await FakeAdbd.listen(new Phone()));
});
afterAll(async () => {
  await Promise.all(phones.map((adbd) => adbd.stop()));
  await adb.stop();
});

let running: AndroidEnvironment[] = [];
afterEach(async () => {
  await Promise.all(running.map((each) => each.close()));
  running = [];
});

async function started(devices: readonly { serial: string }[], given: Partial<AndroidOptions> = {}) {
  const ANDROID_SERIAL = devices.map(({ serial }) => serial).join(',');
  const made = await environment({ ...adb.variables, ANDROID_SERIAL }, given);
  running.push(made);
  return made;
}

/** Inputs of the first phone since the last call. */
function inputs(): string[] {
  const { log } = phones[0].phone;
  return log
    .splice(0)
    .filter(([program]) => program === 'input')
    .map((words) => words.slice(1).join(' '));
}

async function opened(options: Record<string, unknown> = {}): Promise<EnvironmentSession> {
  const session = await open(await started([phones[0]]), options);
  inputs();
  return session;
}

const WIFI = {
  start: { settings: { 'global wifi_on': 0 }, open: 'com.android.settings' },
  validators: [
    { setting: 'global wifi_on', expected: true },
    { focus: 'com.android.settings' },
    { package: 'com.android.chrome' },
    { file: '/sdcard/it is.txt', exists: false },
  ],
};

it('plays a task: the start is made, the screen follows, validators tell what the device says', async () => {
  const { phone } = phones[0];
  phone.warning = '[Warning] Multiple displays were found\n';
  const session = await open(await started([phones[0]]), WIFI);
  phone.warning = '';
  expect(session.state).toMatchObject({
    focus: 'com.android.settings/com.android.settings.Settings',
    validated: false,
  });
  expect(session.screenshot).toMatchObject({ width: 90, height: 160 });
  const [x, y] = phone.place('switch');
  const { screenshot, done } = value(await session.step({ action: 'click', x, y }, within(5_000)));
  expect(screenshot.sha256).not.toBe(session.screenshot.sha256);
  expect(done).toBe(false);
  expect(value(await session.inspect!(within(5_000)))).toMatchObject({ validated: true });
  expect(value(await session.step({ action: 'finish', success: true }, within(5_000))).done).toBe(true);
  const state = value(await session.close(within(5_000)));
  const millis = expect.any(Number);
  expect(state).toEqual({
    device: phones[0].serial,
    focus: 'com.android.settings/com.android.settings.Settings',
    validated: true,
    validations: [
      {
        command: 'settings get global wifi_on',
        expected: '1',
        actual: '1',
        success: true,
        executionTimeMs: millis,
      },
      {
        command: 'dumpsys window | grep mCurrentFocus',
        expected: 'com.android.settings',
        actual: 'com.android.settings/com.android.settings.Settings',
        success: true,
        executionTimeMs: millis,
      },
      {
        command: 'pm list packages com.android.chrome',
        expected: 'installed',
        actual: 'installed',
        success: true,
        executionTimeMs: millis,
      },
      {
        command: "test -e '/sdcard/it is.txt'",
        expected: 'not there',
        actual: 'not there',
        success: true,
        executionTimeMs: millis,
      },
    ],
  });
});

it('types a text as it is: nothing of it is a command', async () => {
  const { phone } = phones[0];
  const session = await opened();
  const text = [
    `$(rm -rf /sdcard) \`reboot\`; reboot & rm x | rm y > /tmp/z "double" 'single' \\ * ~ ? {a,b} # !`,
    '100%sure %s %%s -n\tend',
    'x'.repeat(450),
  ].join('\n');
  phone.typed = '';
  phone.log.length = 0;
  expect(await act(session, { action: 'type', text })).toBe('ok');
  expect(phone.typed).toBe(text);
  expect(new Set(phone.log.map(([program]) => program))).toEqual(new Set(['input']));
});

it('types beyond ASCII through ADBKeyBoard where it is installed, and gives the keyboard back', async () => {
  const { phone } = phones[0];
  const text = 'grüße, 你好 🙂 $(reboot) \' " \n';
  const without = await opened();
  phone.typed = '';
  expect(await act(without, { action: 'type', text })).toBe('untypable_text');
  expect(phone.typed).toBe('');
  await without.discard();
  phone.installAdbKeyboard();
  const session = await opened();
  expect(await act(session, { action: 'type', text })).toBe('ok');
  expect(phone.typed).toBe(text);
  expect(phone.keyboard).toContain('adbkeyboard');
  await session.close(within(5_000));
  expect(phone.keyboard).toBe(phone.keyboards[0]);
});

it.each(TYPED_TEXTS)('types $text as every environment does', async ({ text, typed, outcome }) => {
  const { phone } = phones[0];
  const session = await opened();
  phone.typed = '';
  expect(await act(session, { action: 'type', text })).toBe(outcome);
  expect(phone.typed).toBe(typed);
  await session.discard();
});

it('begins without ADBKeyBoard, which an episode of another run has left behind', async () => {
  const { phone } = phones[0];
  phone.installAdbKeyboard();
  const first = await started([phones[0]]);
  const left = await open(first);
  expect(await act(left, { action: 'type', text: 'ü' })).toBe('ok');
  await left.discard(); // its lease has expired
  await first.close();
  expect(phone.keyboard).toContain('adbkeyboard');
  const next = await open(await started([phones[0]]));
  expect(phone.keyboard).toBe(phone.keyboards[0]);
  await next.discard();
});

it('a text that takes longer than there is time is cut short, and the episode continues', async () => {
  const { phone } = phones[0];
  const session = await opened();
  phone.typed = '';
  // Slightly more than the time reserved for the screenshot.
  const step = session.step({ action: 'type', text: '\n'.repeat(500) }, within(3_300));
  expect(value(await step).outcome).toBe('cut_short');
  expect(phone.typed).toMatch(/^\n{1,499}$/);
  expect(await act(session, { action: 'click', x: 1, y: 2 })).toBe('ok');
  await session.discard();
});

it('carries out the vocabulary in the words of input', async () => {
  const session = await opened();
  const done = async (action: Parameters<typeof act>[1]) => [await act(session, action), inputs()];
  expect(await done({ action: 'double_click', x: 1, y: 2 })).toEqual(['ok', ['tap 1 2', 'tap 1 2']]);
  expect(await done({ action: 'long_press', x: 3, y: 4, seconds: 2 })).toEqual([
    'ok',
    ['swipe 3 4 3 4 2000'],
  ]);
  expect(await done({ action: 'drag', from: [1, 2], to: [3, 4] })).toEqual([
    'ok',
    ['draganddrop 1 2 3 4 800'],
  ]);
  expect(await done({ action: 'swipe', from: [9, 9], to: [3, 4] })).toEqual(['ok', ['swipe 9 9 3 4 250']]);
  expect(await done({ action: 'swipe', direction: 'up' })).toEqual(['ok', ['swipe 45 80 45 0 250']]);
  expect(await done({ action: 'scroll', direction: 'down', amount: 3 })).toEqual([
    'ok',
    ['swipe 45 80 45 40 500'],
  ]);
  expect(await done({ action: 'button', button: 'recents' })).toEqual([
    'ok',
    ['keyevent KEYCODE_APP_SWITCH'],
  ]);
  expect(await done({ action: 'button', button: 'back' })).toEqual(['ok', ['keyevent KEYCODE_BACK']]);
  expect(await done({ action: 'key', keys: ['enter'] })).toEqual(['ok', ['keyevent KEYCODE_ENTER']]);
  expect(await done({ action: 'key', keys: ['ctrl', 'a'] })).toEqual([
    'ok',
    ['keycombination KEYCODE_CTRL_LEFT KEYCODE_A'],
  ]);
  expect(await done({ action: 'key', keys: ["'"] })).toEqual(['ok', ["text '"]]);
  expect(await done({ action: 'right_click', x: 1, y: 2 })).toEqual(['unsupported_action', []]);
  expect(await done({ action: 'mouse_down', x: 1, y: 2 })).toEqual(['unsupported_action', []]);
  expect(await done({ action: 'key', keys: ['enter'], seconds: 1 })).toEqual(['unsupported_action', []]);
  expect(await done({ action: 'drag', from: [1, 2], via: [[3, 4]], to: [5, 6] })).toEqual([
    'unsupported_action',
    [],
  ]);
  expect(await done({ action: 'click', x: 1, y: 2, modifiers: ['ctrl'] })).toEqual([
    'unsupported_action',
    [],
  ]);
  expect(await done({ action: 'click', x: 90, y: 2 })).toEqual(['outside_viewport', []]);
  expect(await done({ action: 'wait', seconds: 0.01 })).toEqual(['ok', []]);
});

it('reads size and orientation anew with each screenshot', async () => {
  const { phone } = phones[0];
  const session = await opened();
  phone.landscape = true;
  const turned = value(await session.step({ action: 'wait', seconds: 0 }, within(5_000)));
  expect(turned.screenshot).toMatchObject({ width: 160, height: 90 });
  expect(await act(session, { action: 'click', x: 150, y: 20 })).toBe('ok');
  expect(await act(session, { action: 'click', x: 20, y: 150 })).toBe('outside_viewport');
  phone.landscape = false;
  await session.discard();
});

it('gives each episode its own device; others wait, and hear that all are in use', async () => {
  const both = await started(phones);
  const [a, b] = await Promise.all([open(both), open(both)]);
  expect(new Set([a, b].map(({ state }) => state?.device)).size).toBe(2);
  const early = both.open({ task: task(), seed: 1 }, within(300));
  const late = open(both);
  expect(code(await early)).toBe('capacity');
  await b.discard();
  expect((await late).state?.device).toBe(b.state?.device);
});

it('gives no device away that another run of the same service plays on', async () => {
  const [first, second] = [await started([phones[0]]), await started([phones[0]])];
  const playing = await open(first);
  expect(code(await second.open({ task: task(), seed: 1 }, within(300)))).toBe('capacity');
  const late = open(second);
  await playing.discard();
  expect((await late).state?.device).toBe(playing.state?.device);
});

it('a device that is gone ends the episode, is set aside, and plays again once it is back', async () => {
  const proxy = await FaultyProxy.start(phones[1].port);
  const serial = `127.0.0.1:${proxy.port}`;
  const both = await started([{ serial }]);
  const session = await open(both);
  proxy.cut(true);
  expect(code(await session.step({ action: 'click', x: 1, y: 1 }, within(5_000)))).toBe('crashed');
  await session.discard();
  expect(warnings.at(-1)).toContain(`device ${serial} is set aside for 1000 ms`);
  expect(code(await both.open({ task: task(), seed: 1 }, within(600)))).toBe('capacity');
  proxy.heal();
  expect((await open(both, {}, 20_000)).state?.device).toBe(serial);
  await proxy.stop();
});

it('another device takes over where one fails before its episode began', async () => {
  const proxy = await FaultyProxy.start(phones[0].port);
  const both = await started([{ serial: `127.0.0.1:${proxy.port}` }, phones[1]]);
  const first = await Promise.all([open(both), open(both)]);
  await Promise.all(first.map((session) => session.discard()));
  proxy.cut(true);
  // Devices take turns, so one of these gets the disconnected device.
  for (let i = 0; i < 2; i += 1) {
    const session = await open(both);
    expect(session.state?.device).toBe(phones[1].serial);
    await session.discard();
  }
  expect(warnings.at(-1)).toContain(`device 127.0.0.1:${proxy.port} is set aside`);
  await proxy.stop();
});

it('a device that does not report the focus gives no verdict', async () => {
  const phone = new Phone();
  const adbd = await FakeAdbd.listen(phone);
  const session = await open(await started([adbd]), { validators: [{ focus: 'com.android.settings' }] });
  phone.failing = 'dumpsys window';
  expect(await session.close(within(5_000))).toMatchObject({
    ok: false,
    error: { code: 'crashed', message: expect.stringContaining('dumpsys window') },
  });
  await adbd.stop();
});

it('keeps its deadline with a device that does not answer', async () => {
  const session = await opened();
  phones[0].silent = true;
  const began = performance.now();
  expect(code(await session.step({ action: 'click', x: 1, y: 1 }, within(300)))).toBe('deadline');
  expect(performance.now() - began).toBeLessThan(2_000);
  phones[0].silent = false;
  await session.discard();
});

it('says what is missing: a server, a device, permission', async () => {
  await expect(environment({ ANDROID_ADB_SERVER_PORT: '1' })).rejects.toThrow(
    'there is no adb server at 127.0.0.1:1. Start one there: adb -P 1 start-server',
  );
  await expect(environment(adb.variables)).rejects.toThrow(/lists no emulator: see "adb devices"/);
  await expect(environment(adb.variables, { serials: [phones[0].serial] })).rejects.toThrow(
    `names ${phones[0].serial}, which this env service does not allow; its owner says so with ANDROID_SERIAL=`,
  );
  const stranger = await FakeAdbd.listen(new FakePhone());
  stranger.authorizes = false;
  await expect(started([stranger])).rejects.toThrow(
    `lists ${stranger.serial} as unauthorized: say yes to "Allow USB debugging" on its screen`,
  );
  await stranger.stop();
});

it.each([
  [
    { validators: [{ command: 'rm -rf /' }] },
    'validators.0 is {"command":"rm -rf /"}, expected one of {setting: …}',
  ],
  [{ validators: [{ setting: 'global wifi_on; reboot', expected: 1 }] }, 'expected a setting such as'],
  [{ validators: [{ package: '$(reboot)' }] }, 'expected a package such as'],
  [{ validators: [{ file: 'relative' }] }, 'expected an absolute path'],
  [{ validators: [{ setting: 'global wifi_on', expceted: 1 }] }, 'Did you mean'],
  [{ start: { open: 'a.b/`reboot`' } }, 'expected an activity such as'],
  [{ start: { settings: { wifi: 1 } } }, 'expected a setting such as'],
  [{ shell: 'id' }, 'environment option "shell" is unknown (known: start, validators)'],
])('refuses a task that wants other commands: %j', async (options, words) => {
  const made = await started([phones[0]]);
  const reply = await made.open({ task: task(options), seed: 1 }, within(5_000));
  expect(reply).toMatchObject({
    ok: false,
    error: { code: 'bad_task', message: expect.stringContaining(words) },
  });
});

it('a start that the device refuses makes no episode', async () => {
  const made = await started([phones[0]]);
  const reply = await made.open(
    { task: task({ start: { open: 'org.example.absent' } }), seed: 1 },
    within(5_000),
  );
  expect(reply).toMatchObject({ ok: false, error: { code: 'bad_start' } });
  expect(isRecord((await open(made)).state)).toBe(true); // the device is free for the next episode
});

it('a lost adb server ends the episode', async () => {
  const own = await Adb.start();
  const variables = { ...own.variables, ANDROID_SERIAL: phones[0].serial };
  const made = await environment(variables);
  running.push(made);
  const session = await open(made);
  await own.stop();
  const reply = await session.step({ action: 'click', x: 1, y: 1 }, within(5_000));
  expect(reply).toMatchObject({
    ok: false,
    error: { code: 'crashed', message: expect.stringContaining('no adb server') },
  });
});
