interface Modified {
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

interface Pressed extends Modified {
  key: string;
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
export function keysOf(event: Pressed): string[] | null {
  const { key } = event;
  const name =
    NAMES[key] ?? (/^F\d+$/.test(key) ? key.toLowerCase() : isCharacter(key) ? key.toLowerCase() : null);
  return name === null ? null : [...heldOf(event), name];
}

/** The modifiers that are held during an event of the keyboard or the pointer. */
export function heldOf({ ctrlKey, metaKey, altKey, shiftKey }: Modified): string[] {
  const modifiers = { ctrl: ctrlKey, alt: altKey, shift: shiftKey, meta: metaKey };
  return Object.entries(modifiers).flatMap(([modifier, isHeld]) => (isHeld ? [modifier] : []));
}

/** Ctrl+M leaves the picture, as in code editors: all other keys belong to the page. */
export function isLeave({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): boolean {
  return key.toLowerCase() === 'm' && ctrlKey && !metaKey && !altKey && !shiftKey;
}

/** A single character, of any number of UTF-16 units; names of keys are longer. */
function isCharacter(key: string): boolean {
  return Array.from(key).length === 1;
}
