import { didYouMean } from '../nearest';
import { isRecord, show } from '../show';
import { DeviceCommandError } from './errors';
import { appName, filePath, packageName, refuse, settingName } from './names';
import { readQuery } from './queries';
import { shellWord, type CommandReply, type RunCommand } from './shell';

/** The result of one check, as stored in the state of an episode. */
export interface DeviceValidation {
  command: string;
  expected: string;
  actual: string;
  success: boolean;
  executionTimeMs: number;
}

/** A check that a task may run on a device. */
export interface DeviceCheck {
  command: string;
  /** The expected condition, in words. */
  expected: string;
  /** Judges the device's answer. Throws if the command failed. */
  judge: (reply: CommandReply) => Pick<DeviceValidation, 'actual' | 'success'>;
}

const FORMS = ['setting', 'focus', 'activity', 'package', 'file', 'query'] as const;
type Form = (typeof FORMS)[number];
type Read = (check: Record<string, unknown>, where: string) => DeviceCheck;

const READERS: Readonly<Record<Form, { fields: readonly string[]; read: Read }>> = {
  setting: { fields: ['expected', 'at_least', 'at_most'], read: readSetting },
  focus: { fields: [], read: readFocus },
  activity: { fields: [], read: readActivity },
  package: { fields: ['installed'], read: readPackage },
  file: { fields: ['exists'], read: readFile },
  query: {
    fields: ['expected'],
    read: ({ query, expected }, where) => readCheck(readQuery(query, expected, where), where),
  },
};

/**
 * Parses the checks of a task on an Android device, each one of
 *
 * - `{setting: "global wifi_on", expected: 1}`, or a list of values, or `at_least` and `at_most`: `settings get`;
 * - `{focus: "com.android.settings"}`, one of its activities, or a list of these: `dumpsys window | grep
 *   mCurrentFocus`;
 * - `{activity: "WifiSettings"}`: the same command; matches a part of the activity's or window's name, ignoring case;
 * - `{package: "org.example.app", installed: false}` (default true): `pm list packages`;
 * - `{file: "/sdcard/a.txt", exists: false}` (default true): `test -e`;
 * - `{query: "wifi_enabled", expected: true}`: one of the above, by its name in recipes.
 *
 * No other command reaches a device. Throws `PluginError` `option` that names the fault.
 */
export function readDeviceChecks(validators: unknown, where = 'validators'): DeviceCheck[] {
  if (validators === undefined) return [];
  if (!Array.isArray(validators)) return refuse(where, validators, 'a list');
  return validators.map((check: unknown, index) => readCheck(check, `${where}.${index}`));
}

/**
 * The state of a device that verifiers judge: its known facts, and the results of the task's checks, if any. Rethrows
 * errors of `run`.
 */
export async function validatedState(
  known: Readonly<Record<string, unknown>>,
  checks: readonly DeviceCheck[],
  run: RunCommand,
): Promise<Record<string, unknown>> {
  if (checks.length === 0) return { ...known };
  const validations = await validateDevice(checks, run);
  return { ...known, validations, validated: validations.every(({ success }) => success) };
}

/** Runs all checks on a device, one after the other. Rethrows errors of `run`. */
export async function validateDevice(
  checks: readonly DeviceCheck[],
  run: RunCommand,
): Promise<DeviceValidation[]> {
  const validations: DeviceValidation[] = [];
  for (const { command, expected, judge } of checks) {
    const began = performance.now();
    const reply = await run(command);
    const executionTimeMs = Math.round(performance.now() - began);
    validations.push({ command, expected, ...judge(reply), executionTimeMs });
  }
  return validations;
}

function readCheck(check: unknown, where: string): DeviceCheck {
  const expected = `one of ${FORMS.map((form) => `{${form}: …}`).join(', ')}`;
  if (!isRecord(check)) return refuse(where, check, expected);
  const form = FORMS.find((candidate) => candidate in check);
  if (form === undefined) return refuse(where, check, expected);
  const { fields, read } = READERS[form];
  const known = [form, ...fields];
  const unknown = Object.keys(check).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    return refuse(
      where,
      check,
      `no field "${unknown}" (known: ${known.join(', ')})${didYouMean(unknown, known)}`,
    );
  }
  return read(check, where);
}

function readSetting(
  { setting, expected, at_least: least, at_most: most }: Record<string, unknown>,
  where: string,
) {
  const name = settingName(setting, `${where}.setting`);
  const command = `settings get ${name}`;
  if (expected !== undefined) {
    const wanted = (Array.isArray(expected) ? expected : [expected]).map((value) =>
      settingValue(value, `${where}.expected`),
    );
    return check(command, wanted.join(' or '), (actual) => wanted.includes(actual));
  }
  const bounds = { least: bound(least, `${where}.at_least`), most: bound(most, `${where}.at_most`) };
  if (least === undefined && most === undefined) refuse(where, { setting }, 'expected, at_least or at_most');
  return check(command, rangeText(bounds), (actual) => {
    const number = /^-?\d+(\.\d+)?$/.test(actual) ? Number(actual) : Number.NaN;
    return number >= (bounds.least ?? -Infinity) && number <= (bounds.most ?? Infinity);
  });
}

/** A value as `settings get` prints it: switches are 1 and 0. */
export function settingValue(value: unknown, where: string): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'string' && /^[\x20-\x7e]{1,200}$/.test(value)) return value;
  return refuse(where, value, 'a number, true, false or printable text');
}

function bound(value: unknown, where: string): number | undefined {
  if (value === undefined || typeof value === 'number') return value;
  return refuse(where, value, 'a number');
}

function rangeText({ least, most }: { least?: number; most?: number }): string {
  return [least === undefined ? [] : `at least ${least}`, most === undefined ? [] : `at most ${most}`]
    .flat()
    .join(', ');
}

const FOCUS = 'dumpsys window | grep mCurrentFocus';

function readFocus({ focus }: Record<string, unknown>, where: string): DeviceCheck {
  const all: unknown[] = Array.isArray(focus) && focus.length > 0 ? focus : [focus];
  const wanted = all.map((each) => wholeComponent(appName(each, `${where}.focus`)));
  return focused(wanted.join(' or '), (component) =>
    wanted.some((each) => (each.includes('/') ? component === each : component.split('/')[0] === each)),
  );
}

function readActivity({ activity }: Record<string, unknown>, where: string): DeviceCheck {
  if (typeof activity !== 'string' || !/^[A-Za-z0-9_.$]{1,200}$/.test(activity)) {
    return refuse(`${where}.activity`, activity, 'part of the name of an activity');
  }
  return focused(`"${activity}" in the name of the activity or window`, (component) => {
    const name = component.includes('/') ? component.split('/')[1] : component;
    return name.toLowerCase().includes(activity.toLowerCase());
  });
}

function focused(expected: string, holds: (component: string) => boolean): DeviceCheck {
  return {
    command: FOCUS,
    expected,
    judge: (reply) => {
      // A working device prints such a line even if no window has the focus.
      const actual = focusOf(succeeded(FOCUS, reply));
      return { actual, success: holds(actual) };
    },
  };
}

/**
 * The focused window in a line of `dumpsys window`: `package/activity`, or its title for a window of the system
 * (`NotificationShade`); empty if none is focused. With several displays, the first that has a focused window.
 */
export function focusOf(dump: string): string {
  const windows = [...dump.matchAll(/mCurrentFocus=Window\{\S+ (?:u\d+ )?(.*?)\}/g)].map(
    ([, title]) => title,
  );
  return wholeComponent(windows[0]?.trim() ?? '');
}

/** The command that prints the focus. */
export const FOCUS_COMMAND = FOCUS;

/** `com.a/.B` is short for `com.a/com.a.B`. */
function wholeComponent(component: string): string {
  return component.replace(/^([^/]+)\/\./, '$1/$1.');
}

function readPackage(
  { package: name, installed = true }: Record<string, unknown>,
  where: string,
): DeviceCheck {
  const wanted = packageName(name, `${where}.package`);
  const should = yesOrNo(installed, `${where}.installed`);
  const words = (is: boolean) => (is ? 'installed' : 'not installed');
  return {
    command: `pm list packages ${wanted}`,
    expected: words(should),
    judge: (reply) => {
      const lines = succeeded(`pm list packages`, reply).split('\n');
      const is = lines.some((line) => line.trim() === `package:${wanted}`);
      return { actual: words(is), success: is === should };
    },
  };
}

function readFile({ file, exists = true }: Record<string, unknown>, where: string): DeviceCheck {
  const path = filePath(file, `${where}.file`);
  const should = yesOrNo(exists, `${where}.exists`);
  const words = (is: boolean) => (is ? 'there' : 'not there');
  return {
    command: `test -e ${shellWord(path)}`,
    expected: words(should),
    judge: (reply) => {
      if (reply.exitCode > 1) succeeded('test', reply);
      const is = reply.exitCode === 0;
      return { actual: words(is), success: is === should };
    },
  };
}

function yesOrNo(value: unknown, where: string): boolean {
  return typeof value === 'boolean' ? value : refuse(where, value, 'true or false');
}

function check(command: string, expected: string, holds: (actual: string) => boolean): DeviceCheck {
  return {
    command,
    expected,
    judge: (reply) => {
      const actual = succeeded(command, reply).trim();
      return { actual, success: holds(actual) };
    },
  };
}

/** A failed command says nothing about the task, so the episode gets no verdict. */
function succeeded(command: string, { exitCode, stdout }: CommandReply): string {
  if (exitCode === 0) return stdout;
  throw new DeviceCommandError(
    `${command} ended with ${exitCode} on the device, and said ${show(stdout.trim())}`,
  );
}
