/** Keys with another name in Playwright; letters, digits and signs are the same. */
const NAMES: Readonly<Record<string, string>> = {
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

/** A key's name in Playwright, and in programs based on it, such as BrowserGym: `Control`, `F5`, `a`. */
export function playwrightKey(key: string): string {
  return NAMES[key] ?? (/^f\d+$/.test(key) ? key.toUpperCase() : key);
}
