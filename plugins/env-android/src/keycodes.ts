import type { Button } from '@ui-rl/plugin-kit';

/** Key names of the action format → key codes. Source: developer.android.com/reference/android/view/KeyEvent */
const KEYS: Readonly<Record<string, string>> = {
  alt: 'ALT_LEFT',
  backspace: 'DEL',
  caps_lock: 'CAPS_LOCK',
  ctrl: 'CTRL_LEFT',
  delete: 'FORWARD_DEL',
  down: 'DPAD_DOWN',
  end: 'MOVE_END',
  enter: 'ENTER',
  escape: 'ESCAPE',
  home: 'MOVE_HOME',
  insert: 'INSERT',
  left: 'DPAD_LEFT',
  meta: 'META_LEFT',
  page_down: 'PAGE_DOWN',
  page_up: 'PAGE_UP',
  right: 'DPAD_RIGHT',
  shift: 'SHIFT_LEFT',
  space: 'SPACE',
  tab: 'TAB',
  up: 'DPAD_UP',
};

const BUTTONS: Readonly<Record<Button, string>> = {
  back: 'BACK',
  home: 'HOME',
  menu: 'MENU',
  recents: 'APP_SWITCH',
  power: 'POWER',
  volume_up: 'VOLUME_UP',
  volume_down: 'VOLUME_DOWN',
};

/** The key code of a key; undefined if a hardware keyboard has none for the character. */
export function keyCode(key: string): string | undefined {
  const named = KEYS[key] ?? (/^f\d{1,2}$/.test(key) ? key.toUpperCase() : undefined);
  const name = named ?? (/^[a-z0-9]$/i.test(key) ? key.toUpperCase() : undefined);
  return name === undefined ? undefined : `KEYCODE_${name}`;
}

export function buttonCode(button: Button): string {
  return `KEYCODE_${BUTTONS[button]}`;
}
