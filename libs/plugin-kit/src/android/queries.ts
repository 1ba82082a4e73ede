import { didYouMean } from '../nearest';
import { refuse } from './names';

/** Translates a named query to one of the other forms. */
type Query = (expected: unknown, where: string) => Record<string, unknown>;

/** A switch: the setting's values for on and off. */
const onOff =
  (setting: string, on: readonly number[] = [1], off: readonly number[] = [0]): Query =>
  (expected, where) => {
    if (typeof expected !== 'boolean') return refuse(where, expected, 'true or false');
    return { setting, expected: expected ? on : off };
  };

const value =
  (setting: string): Query =>
  (expected) => ({ setting, expected });

/** Queries by their names in recipes for computer-use agents (`validation_query`). */
const QUERIES: Readonly<Record<string, Query>> = {
  airplane_mode: onOff('global airplane_mode_on'),
  app_installed: (expected) => ({ package: expected }),
  auto_rotate_enabled: onOff('system accelerometer_rotation'),
  auto_time_enabled: onOff('global auto_time'),
  battery_saver_enabled: onOff('global low_power'),
  bluetooth_enabled: onOff('global bluetooth_on'),
  brightness_level: value('system screen_brightness'),
  current_activity: (expected) => ({ activity: expected }),
  current_app: (expected) => ({ focus: expected }),
  // 1 to 3 are its modes: priority, none, alarms.
  dnd_enabled: onOff('global zen_mode', [1, 2, 3]),
  dark_theme_enabled: onOff('secure ui_night_mode', [2], [0, 1]),
  is_home_screen: (expected, where) =>
    expected === true ? { activity: 'launcher' } : refuse(where, expected, 'true'),
  is_notifications_open: (expected, where) =>
    expected === true ? { activity: 'NotificationShade' } : refuse(where, expected, 'true'),
  // 1 to 3 are its accuracy levels.
  location_enabled: onOff('secure location_mode', [1, 2, 3]),
  screen_timeout: value('system screen_off_timeout'),
  usb_debugging_enabled: onOff('global adb_enabled'),
  // Airplane mode: 2 is on despite it, 3 is off because of it.
  wifi_enabled: onOff('global wifi_on', [1, 2], [0, 3]),
};

/** The check behind `{query: "wifi_enabled", expected: true}`. Throws `PluginError` for an unknown name. */
export function readQuery(query: unknown, expected: unknown, where: string): Record<string, unknown> {
  const known = Object.keys(QUERIES);
  if (typeof query !== 'string' || !Object.hasOwn(QUERIES, query)) {
    const meant = typeof query === 'string' ? didYouMean(query, known) : '';
    return refuse(`${where}.query`, query, `one of ${known.join(', ')}.${meant}`);
  }
  return QUERIES[query](expected, `${where}.expected`);
}
