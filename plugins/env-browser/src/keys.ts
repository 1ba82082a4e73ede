/** Names of the vocabulary → names of Playwright; single characters stand for themselves. */
const NAMES: Record<string, string> = {
  alt: 'Alt',
  backspace: 'Backspace',
  caps_lock: 'CapsLock',
  ctrl: 'Control',
  delete: 'Delete',
  down: 'ArrowDown',
  end: 'End',
  enter: 'Enter',
  escape: 'Escape',
  home: 'Home',
  insert: 'Insert',
  left: 'ArrowLeft',
  meta: 'Meta',
  page_down: 'PageDown',
  page_up: 'PageUp',
  right: 'ArrowRight',
  shift: 'Shift',
  space: 'Space',
  tab: 'Tab',
  up: 'ArrowUp',
};

export function playwrightKey(key: string): string {
  return NAMES[key] ?? (/^f\d+$/.test(key) ? key.toUpperCase() : key);
}

/** Whether a key stands on the keyboard Playwright imitates; other characters can only be inserted. */
export function isOnKeyboard(key: string): boolean {
  return key.length > 1 || /^[\x20-\x7e]$/.test(key);
}
