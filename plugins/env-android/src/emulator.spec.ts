import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Adb, FakeAdbd, FakeConsole, FakePhone, freePort } from '@ui-rl/testkit';
import { act, environment, open, task, value, within } from '../test/support';

const TOKEN = 'kM9x+secret';
let home: string;
let adb: Adb;
let adbd: FakeAdbd;
let emulator: FakeConsole;
let serial: string;
let variables: Record<string, string>;

/** An emulator uses two consecutive ports: that of its console, which names it, and that of its device. */
async function startEmulator(phone: FakePhone): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const port = await freePort();
    try {
      emulator = await FakeConsole.listen(port, TOKEN, () => {
        phone.settings.set('global wifi_on', '1');
        adbd.disconnect(); // its adb server reconnects by itself
        void adb.addEmulator(port + 1);
      });
      adbd = await FakeAdbd.listen(phone, port + 1);
      serial = `emulator-${port}`;
      return;
    } catch (error) {
      await emulator?.stop();
      if (attempt > 10) throw error;
    }
  }
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'ui-rl-emulator-'));
  writeFileSync(join(home, 'token'), `${TOKEN}\n`);
  adb = await Adb.start();
  variables = { ...adb.variables, ANDROID_EMULATOR_TOKEN_FILE: join(home, 'token') };
  await startEmulator(new FakePhone());
  emulator.snapshots.add('clean');
  await adb.addEmulator(adbd.port);
});
afterAll(async () => {
  await Promise.all([adb.stop(), adbd.stop(), emulator.stop()]);
  rmSync(home, { recursive: true });
});

it('is used without being named, and loads its snapshot before each episode', async () => {
  const { phone } = adbd;
  const made = await environment(variables, {
    snapshot: 'clean',
    reset_settings: { 'global window_animation_scale': 0 },
  });
  for (let episode = 1; episode <= 2; episode += 1) {
    const session = await open(made, { validators: [{ setting: 'global wifi_on', expected: 1 }] }, 20_000);
    expect(session.state).toMatchObject({ device: serial, validated: true });
    expect(emulator.commands).toEqual(Array.from({ length: episode }, () => 'avd snapshot load clean'));
    expect(phone.settings.get('global window_animation_scale')).toBe('0');
    const [x, y] = phone.place('icon');
    expect(await act(session, { action: 'click', x, y })).toBe('ok');
    const [switchX, switchY] = phone.place('switch');
    expect(await act(session, { action: 'click', x: switchX, y: switchY })).toBe('ok');
    expect(value(await session.close(within(5_000)))).toMatchObject({ validated: false });
  }
  await made.close();
});

it('reports a missing snapshot, and a wrong token, in the words of the console', async () => {
  const absent = await environment(variables, { snapshot: 'dirty' });
  const reply = await absent.open({ task: task(), seed: 1 }, within(1_500));
  expect(reply).toMatchObject({
    ok: false,
    error: { code: 'crashed', message: expect.stringContaining("snapshot 'dirty'") },
  });
  await absent.close();
  writeFileSync(join(home, 'token'), 'other');
  const stranger = await environment(variables, { snapshot: 'clean' });
  const refused = await stranger.open({ task: task(), seed: 1 }, within(1_500));
  expect(refused).toMatchObject({
    ok: false,
    error: { code: 'crashed', message: expect.stringContaining('does not match') },
  });
  await stranger.close();
});

it('no snapshot is loaded on a device that is none', async () => {
  await expect(
    environment({ ...variables, ANDROID_SERIAL: 'R58M123' }, { snapshot: 'clean' }),
  ).rejects.toThrow('R58M123 is not an emulator');
  await expect(environment(variables, { snapshot: 'clean; kill' })).rejects.toThrow(
    'must be the name of a snapshot',
  );
});
