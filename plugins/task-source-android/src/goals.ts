/** A compact task definition. */
export interface Goal {
  id: string;
  goal: string;
  category: 'system' | 'navigation' | 'settings' | 'app' | 'input';
  difficulty: 'easy' | 'medium' | 'hard';
  maxSteps: number;
  /** Conditions that must all hold at the end. */
  validators: readonly Record<string, unknown>[];
  /** Settings at the start, so that the goal does not hold yet. */
  settings?: Readonly<Record<string, number>>;
  /** Screen that is open at the start; the home screen if absent. */
  open?: string;
}

type Difficulty = Goal['difficulty'];

/** Toggles: goal, setting, and its values for on and off. */
const SWITCHES = {
  wifi: { name: 'Wi-Fi', query: 'wifi_enabled', setting: 'global wifi_on', on: 1 },
  bluetooth: { name: 'Bluetooth', query: 'bluetooth_enabled', setting: 'global bluetooth_on', on: 1 },
  airplane: { name: 'airplane mode', query: 'airplane_mode', setting: 'global airplane_mode_on', on: 1 },
  rotate: {
    name: 'auto-rotate',
    query: 'auto_rotate_enabled',
    setting: 'system accelerometer_rotation',
    on: 1,
  },
  dnd: { name: 'Do Not Disturb', query: 'dnd_enabled', setting: 'global zen_mode', on: 1 },
  saver: { name: 'Battery Saver', query: 'battery_saver_enabled', setting: 'global low_power', on: 1 },
  time: { name: 'automatic date and time', query: 'auto_time_enabled', setting: 'global auto_time', on: 1 },
  location: { name: 'location', query: 'location_enabled', setting: 'secure location_mode', on: 3 },
  dark: { name: 'the dark theme', query: 'dark_theme_enabled', setting: 'secure ui_night_mode', on: 2 },
} as const;

const QUICK = ' in the quick settings';

function turn(
  [id, what, to]: [id: string, what: keyof typeof SWITCHES, to: 'on' | 'off'],
  {
    where = '',
    maxSteps = 10,
    difficulty = 'medium',
  }: { where?: string; maxSteps?: number; difficulty?: Difficulty } = {},
): Goal {
  const { name, query, setting, on } = SWITCHES[what];
  const off = what === 'dark' ? 1 : 0;
  return {
    id,
    goal: `Turn ${name} ${to}${where}`,
    category: 'settings',
    difficulty,
    maxSteps,
    validators: [{ query, expected: to === 'on' }],
    settings: { [setting]: to === 'on' ? off : on },
  };
}

function openApp(id: string, app: string, packages: readonly string[], maxSteps = 6): Goal {
  return {
    id,
    goal: `Open ${app}`,
    category: 'app',
    difficulty: 'easy',
    maxSteps,
    validators: [{ query: 'current_app', expected: packages }],
  };
}

function timeout(id: string, words: string, ms: number): Goal {
  return {
    id,
    goal: `Set the screen timeout to ${words}`,
    category: 'settings',
    difficulty: 'medium',
    maxSteps: 12,
    validators: [{ query: 'screen_timeout', expected: ms }],
    settings: { 'system screen_off_timeout': ms === 600_000 ? 60_000 : 600_000 },
  };
}

function brightness(id: string, words: string, bound: Record<string, number>): Goal {
  return {
    id,
    goal: `Set the brightness of the screen to its ${words}`,
    category: 'settings',
    difficulty: 'medium',
    maxSteps: 10,
    validators: [{ setting: 'system screen_brightness', ...bound }],
    settings: { 'system screen_brightness_mode': 0, 'system screen_brightness': 128 },
  };
}

const CHROME = ['com.android.chrome'];

export const TRAINING: readonly Goal[] = [
  openApp('train_01_open_settings', 'the Settings app', ['com.android.settings'], 5),
  turn(['train_02_enable_wifi', 'wifi', 'on'], { difficulty: 'easy', maxSteps: 8 }),
  brightness('train_03_max_brightness', 'maximum', { at_least: 250 }),
  openApp('train_04_open_chrome', 'the Chrome browser', CHROME, 5),
  turn(['train_05_airplane_mode', 'airplane', 'on'], { maxSteps: 8 }),
  {
    id: 'train_07_go_home',
    goal: 'Go to the home screen',
    category: 'navigation',
    difficulty: 'easy',
    maxSteps: 3,
    validators: [{ query: 'is_home_screen', expected: true }],
    open: 'com.android.settings',
  },
  turn(['train_08_enable_bluetooth', 'bluetooth', 'on'], { maxSteps: 8 }),
  turn(['train_09_disable_wifi', 'wifi', 'off'], { maxSteps: 8 }),
  turn(['train_10_disable_bluetooth', 'bluetooth', 'off'], { maxSteps: 8 }),
  brightness('train_11_min_brightness', 'minimum', { at_most: 10 }),
  turn(['train_18_enable_auto_rotate', 'rotate', 'on']),
  turn(['train_19_disable_auto_rotate', 'rotate', 'off']),
  openApp('train_22_open_dialer', 'the phone dialer', ['com.android.dialer', 'com.google.android.dialer']),
  openApp('train_23_open_messages', 'the app for text messages', [
    'com.android.messaging',
    'com.google.android.apps.messaging',
  ]),
  openApp('train_24_open_camera', 'the camera', [
    'com.android.camera',
    'com.android.camera2',
    'com.google.android.GoogleCamera',
  ]),
  openApp('train_25_open_gallery', 'the gallery of photos', [
    'com.android.gallery3d',
    'com.google.android.apps.photos',
  ]),
  {
    ...openApp('train_27_search_app_in_launcher', 'Chrome by searching for it in the launcher', CHROME, 9),
    category: 'navigation',
    difficulty: 'medium',
  },
  turn(['train_29_toggle_wifi_quick_settings', 'wifi', 'on'], { where: QUICK, maxSteps: 7 }),
  turn(['train_30_toggle_bluetooth_quick_settings', 'bluetooth', 'on'], { where: QUICK, maxSteps: 7 }),
  turn(['train_31_enable_dnd_quick_settings', 'dnd', 'on'], { where: QUICK, maxSteps: 7 }),
  turn(['train_32_disable_dnd_quick_settings', 'dnd', 'off'], { where: QUICK, maxSteps: 7 }),
  {
    id: 'train_33_open_notifications',
    goal: 'Pull down the notifications from the top of the screen',
    category: 'navigation',
    difficulty: 'easy',
    maxSteps: 4,
    validators: [{ query: 'is_notifications_open', expected: true }],
  },
  timeout('train_35_timeout_30s', '30 seconds', 30_000),
  timeout('train_36_timeout_1min', '1 minute', 60_000),
  timeout('train_37_timeout_2min', '2 minutes', 120_000),
  turn(['train_40_enable_auto_time', 'time', 'on']),
  turn(['train_41_disable_auto_time', 'time', 'off']),
  turn(['train_42_enable_battery_saver', 'saver', 'on'], { maxSteps: 12 }),
  turn(['train_43_disable_battery_saver', 'saver', 'off'], { maxSteps: 12 }),
  openApp('train_53_open_contacts', 'the app with the contacts', [
    'com.android.contacts',
    'com.google.android.contacts',
  ]),
  turn(['train_56_enable_location', 'location', 'on'], { maxSteps: 12 }),
  turn(['train_57_disable_location', 'location', 'off'], { maxSteps: 12 }),
  turn(['train_61_enable_dark_theme', 'dark', 'on'], { maxSteps: 12 }),
  turn(['train_62_disable_dark_theme', 'dark', 'off'], { maxSteps: 12 }),
  turn(['train_72_enable_airplane_quick', 'airplane', 'on'], { where: QUICK }),
  turn(['train_73_disable_airplane_quick', 'airplane', 'off'], { where: QUICK }),
];

const EITHER = ', from the Settings app or the quick settings';

export const EVALUATION: readonly Goal[] = [
  timeout('eval_01_display_timeout_5min', '5 minutes', 300_000),
  turn(['eval_02_dnd_mode_enable', 'dnd', 'on'], { where: EITHER }),
  turn(['eval_03_dnd_mode_disable', 'dnd', 'off'], { where: EITHER }),
  turn(['eval_05_enable_dark_theme', 'dark', 'on'], { where: EITHER, maxSteps: 12 }),
  turn(['eval_06_disable_dark_theme', 'dark', 'off'], { where: EITHER, maxSteps: 12 }),
  turn(['eval_07_enable_battery_saver', 'saver', 'on'], { where: EITHER, maxSteps: 14 }),
  turn(['eval_08_disable_battery_saver', 'saver', 'off'], { where: EITHER, maxSteps: 14 }),
  turn(['eval_20_enable_auto_rotate', 'rotate', 'on'], { where: EITHER, maxSteps: 12 }),
];
