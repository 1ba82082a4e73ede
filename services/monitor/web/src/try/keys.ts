interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
  getModifierState(name: string): boolean;
}

/** Browser key names → names of the action vocabulary. */
const NAMES: Readonly<Record<string, string>> = {
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  Backspace: 'backspace',
  Delete: 'delete',
  End: 'end',
  Enter: 'enter',
  Escape: 'escape',
  Home: 'home',
  Insert: 'insert',
  PageDown: 'page_down',
  PageUp: 'page_up',
  Tab: 'tab',
};

/** Whether a key writes a character; including AltGr, which Windows reports as Ctrl and Alt. */
export function isText(event: Pressed): boolean {
  const { key, ctrlKey, metaKey, altKey } = event;
  return isCharacter(key) && (event.getModifierState('AltGraph') || (!ctrlKey && !metaKey && !altKey));
}

/** The keys of an action, modifiers first; null for a lone modifier and for unsupported keys. */
export function keysOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): string[] | null {
  const name =
    NAMES[key] ?? (/^F\d+$/.test(key) ? key.toLowerCase() : isCharacter(key) ? key.toLowerCase() : null);
  if (name === null) return null;
  const modifiers = { ctrl: ctrlKey, alt: altKey, shift: shiftKey, meta: metaKey };
  const held = Object.entries(modifiers).flatMap(([modifier, isHeld]) => (isHeld ? [modifier] : []));
  return [...held, name];
}

/** Ctrl+M leaves the picture, as in code editors: all other keys belong to the page. */
export function isLeave({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): boolean {
  return key.toLowerCase() === 'm' && ctrlKey && !metaKey && !altKey && !shiftKey;
}

/** A single character, of any number of UTF-16 units; names of keys are longer. */
function isCharacter(key: string): boolean {
  return Array.from(key).length === 1;
}
