import { PluginError } from '../errors';
import { show } from '../show';

/** Android's naming rules; other names are rejected before they reach a device. */
const SETTING = /^(global|system|secure) [A-Za-z0-9_.]{1,100}$/;
const PACKAGE = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/;
const COMPONENT = /^[A-Za-z0-9_.]+\/[A-Za-z0-9_.$]+$/;
// eslint-disable-next-line no-control-regex -- no path on a device needs them
const FILE = /^\/[^\u0000-\u001f\u007f]{1,500}$/;

/** `global wifi_on`: namespace and key of a setting. */
export function settingName(found: unknown, where: string): string {
  return matching(found, SETTING, where, 'a setting such as "global wifi_on" (global, system or secure)');
}

/** `com.android.settings` */
export function packageName(found: unknown, where: string): string {
  return matching(found, PACKAGE, where, 'a package such as com.android.settings');
}

/** `com.android.settings`, or `com.android.settings/.Settings` for one of its activities. */
export function appName(found: unknown, where: string): string {
  const isActivity = typeof found === 'string' && found.includes('/');
  return isActivity
    ? matching(found, COMPONENT, where, 'an activity such as com.android.settings/.Settings')
    : packageName(found, where);
}

/** `/sdcard/Download/a.pdf` */
export function filePath(found: unknown, where: string): string {
  return matching(found, FILE, where, 'an absolute path on the device');
}

export function refuse(where: string, found: unknown, expected: string): never {
  throw new PluginError('option', `${where} is ${show(found)}, expected ${expected}`);
}

function matching(found: unknown, form: RegExp, where: string, expected: string): string {
  return typeof found === 'string' && form.test(found) ? found : refuse(where, found, expected);
}
