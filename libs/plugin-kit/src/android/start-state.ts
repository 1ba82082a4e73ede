import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from '../show';
import { settingValue } from './device-checks';
import { DeviceCommandError } from './errors';
import { appName, packageName, refuse, settingName } from './names';
import { shellWord, type RunCommand } from './shell';

/** The initial state of an episode on an Android device. */
export interface DeviceStart {
  /** `global wifi_on` → value. */
  settings: Readonly<Record<string, string>>;
  /** Packages to stop. */
  stop: readonly string[];
  /** Package or activity to open; undefined: the home screen. */
  open?: string;
}

const FIELDS = ['settings', 'stop', 'open'];

/**
 * Parses the initial state of a task: `{settings: {"global wifi_on": 0}, stop: ["com.android.settings"], open:
 * "com.android.settings"}`, all optional. Throws `PluginError` `option` that names the fault.
 */
export function readDeviceStart(start: unknown, where = 'start'): DeviceStart {
  if (start === undefined) return { settings: {}, stop: [] };
  if (!isRecord(start)) return refuse(where, start, `an object with ${FIELDS.join(', ')}`);
  const { settings = {}, stop = [], open, ...others } = start;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    return refuse(where, start, `no field "${unknown}" (known: ${FIELDS.join(', ')})`);
  if (!isRecord(settings)) return refuse(`${where}.settings`, settings, 'an object');
  if (!Array.isArray(stop)) return refuse(`${where}.stop`, stop, 'a list of packages');
  return {
    settings: readSettings(settings, `${where}.settings`),
    stop: stop.map((name: unknown) => packageName(name, `${where}.stop`)),
    ...(open === undefined ? {} : { open: appName(open, `${where}.open`) }),
  };
}

function readSettings(settings: Record<string, unknown>, where: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      settingName(name, where),
      settingValue(value, `${where}.${name}`),
    ]),
  );
}

const ON_OFF = (on: string, off: string) => (value: string) => (value === '0' ? off : on);

/**
 * Commands that also switch the hardware behind a setting: writing `wifi_on` alone does not switch the radio. If a
 * device lacks the command, only the setting is written.
 */
const SWITCHES: Readonly<Record<string, (value: string) => string | undefined>> = {
  'global wifi_on': ON_OFF('svc wifi enable', 'svc wifi disable'),
  'global mobile_data': ON_OFF('svc data enable', 'svc data disable'),
  'global bluetooth_on': ON_OFF('svc bluetooth enable', 'svc bluetooth disable'),
  'global airplane_mode_on': ON_OFF(
    'cmd connectivity airplane-mode enable',
    'cmd connectivity airplane-mode disable',
  ),
  'global low_power': ON_OFF('cmd power set-mode 1', 'cmd power set-mode 0'),
  'global zen_mode': (value) => {
    const mode = { '0': 'off', '1': 'priority', '2': 'none', '3': 'alarms' }[value];
    return mode && `cmd notification set_dnd ${mode}`;
  },
  'secure ui_night_mode': (value) => `cmd uimode night ${value === '2' ? 'yes' : 'no'}`,
  'secure location_mode': ON_OFF(
    'cmd location set-location-enabled true',
    'cmd location set-location-enabled false',
  ),
};

const POLL_MS = 100;

/**
 * Brings a device to the initial state of an episode: home screen, apps stopped, settings written and verified, app
 * opened.
 * Rethrows errors of `run`; throws `DeviceCommandError` if a setting or an app does not take effect.
 *
 * @param withinMs time limit for a setting to take effect
 */
export async function startDevice(start: DeviceStart, run: RunCommand, withinMs = 5_000): Promise<void> {
  await run('input keyevent KEYCODE_WAKEUP');
  for (const name of start.stop) await run(`am force-stop ${name}`);
  await run('input keyevent KEYCODE_HOME');
  const settings = Object.entries(start.settings);
  for (const [name, value] of settings) await writeSetting(name, value, run);
  const until = performance.now() + withinMs;
  for (const [name, value] of settings) await settled(name, value, run, until);
  if (start.open !== undefined) await openApp(start.open, run);
}

async function writeSetting(name: string, value: string, run: RunCommand): Promise<void> {
  await run(`settings put ${name} ${shellWord(value)}`);
  const command = SWITCHES[name]?.(value);
  if (command !== undefined) await run(command);
}

async function settled(name: string, value: string, run: RunCommand, until: number): Promise<void> {
  for (;;) {
    const { stdout } = await run(`settings get ${name}`);
    if (stdout.trim() === value) return;
    if (performance.now() >= until) {
      throw new DeviceCommandError(
        `setting ${name} was to be ${value} at the start, but the device keeps ${stdout.trim()}`,
      );
    }
    await sleep(POLL_MS);
  }
}

/**
 * Opens an app by its package, like its icon, or one of its activities. Throws `DeviceCommandError` if it does not
 * exist.
 */
export async function openApp(name: string, run: RunCommand): Promise<void> {
  const activity = name.includes('/') ? name : await launcherOf(name, run);
  const { exitCode, stdout } = await run(`am start -W -n ${shellWord(activity)}`);
  if (exitCode !== 0 || /^Error/m.test(stdout)) throw notOpened(name, stdout);
}

/** The launcher activity of a package. */
async function launcherOf(name: string, run: RunCommand): Promise<string> {
  const command = `cmd package resolve-activity --brief -c android.intent.category.LAUNCHER ${name}`;
  const { stdout } = await run(command);
  const activity = stdout.trim().split('\n').at(-1)?.trim() ?? '';
  if (!activity.startsWith(`${name}/`)) throw notOpened(name, stdout);
  return activity;
}

function notOpened(name: string, said: string): DeviceCommandError {
  return new DeviceCommandError(`${name} cannot be opened on the device: ${said.trim().split('\n').at(-1)}`);
}
