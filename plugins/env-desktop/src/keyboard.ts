import { setTimeout as sleep } from 'node:timers/promises';
import { keystrokesOf } from '@ui-rl/plugin-kit';
import { keysymOf, keysymOfKey, SHIFT } from './keysyms';
import { FAKE, type XConnection } from './x-connection';

/** A key, and whether shift must be held. */
interface Key {
  keycode: number;
  shift: boolean;
}

/** Bit in the modifier mask. */
const CAPS_LOCK = 2;
/** Programs reload the whole keyboard mapping when it changes, some of them with a delay. */
const BINDING_MS = 60;
/** Characters typed between two checks of the deadline. */
const AT_ONCE = 128;

/**
 * The keyboard of a display. A keysym without a key is bound to an unused key, the least recently bound one, and
 * stays there: programs may look up a key after it was pressed.
 */
export class Keyboard {
  private readonly keys = new Map<number, Key>();
  /** Keys that may be bound, the next one first. */
  private readonly free: number[] = [];
  private readonly bound = new Map<number, number>();
  /** The codes of keys that are down, by the keys' names. */
  private readonly held = new Map<string, number[]>();

  private constructor(
    private readonly x: XConnection,
    /** Waits until programs have handled the input so far, as far as they can be pinged. */
    private readonly dealtWith: () => Promise<unknown>,
    rows: readonly number[][],
  ) {
    rows.forEach((keysyms, index) => {
      const keycode = x.display.min_keycode + index;
      if (keysyms.every((keysym) => keysym === 0)) this.free.push(keycode);
      keysyms.slice(0, 2).forEach((keysym, level) => this.know(keysym, { keycode, shift: level === 1 }));
    });
  }

  static async of(x: XConnection, dealtWith: () => Promise<unknown>): Promise<Keyboard> {
    return new Keyboard(x, dealtWith, await x.keyboard());
  }

  /** Types a text. Returns the number of characters that no key can produce. Stops when `isLate` returns true. */
  async type(text: string, isLate: () => boolean): Promise<number> {
    const { strokes, untypable } = keystrokesOf(text);
    const keysyms = strokes.flatMap((stroke) =>
      'text' in stroke ? Array.from(stroke.text, keysymOf) : [keysymOfKey(stroke.key)],
    );
    const known = keysyms.filter((keysym) => keysym !== null);
    const isCapsLocked = ((await this.x.pointerMask()) & CAPS_LOCK) !== 0;
    for (let begin = 0; begin < known.length && !isLate();) {
      const end = await this.prepare(known, begin);
      for (const keysym of known.slice(begin, end)) this.stroke(keysym, isCapsLocked && isLetter(keysym));
      await this.x.sync();
      begin = end;
    }
    return untypable + keysyms.length - known.length;
  }

  /** Presses keys together, the first one longest. Returns false if a key does not exist. */
  async chord(names: readonly string[]): Promise<boolean> {
    return this.during(names, () => Promise.resolve());
  }

  /** Holds keys during work. Returns false, without the work, if a key does not exist. */
  async during(names: readonly string[], work: () => Promise<void>): Promise<boolean> {
    const codes = await this.codesOf(names);
    if (codes === null) return false;
    for (const code of codes) this.x.fake(FAKE.keyPress, code);
    await work();
    for (const code of codes.toReversed()) this.x.fake(FAKE.keyRelease, code);
    await this.x.sync();
    return true;
  }

  /**
   * Presses a key that stays down. It does not repeat: the time until the next action depends on the policy. Returns
   * false if it does not exist.
   */
  async press(name: string): Promise<boolean> {
    const codes = await this.codesOf([name]);
    if (codes === null) return false;
    if (this.held.has(name)) return true;
    this.x.repeatKeys(false);
    for (const code of codes) this.x.fake(FAKE.keyPress, code);
    await this.x.sync();
    this.held.set(name, codes);
    return true;
  }

  /** Releases a key. Returns false if it is not down. */
  async release(name: string): Promise<boolean> {
    const codes = this.held.get(name);
    if (codes === undefined) return false;
    this.held.delete(name);
    for (const code of codes.toReversed()) this.x.fake(FAKE.keyRelease, code);
    await this.x.sync();
    return true;
  }

  /** Holds keys for a time, during which the last one repeats. Returns false if a key does not exist. */
  async hold(names: readonly string[], milliseconds: number): Promise<boolean> {
    this.x.repeatKeys(true);
    return this.during(names, async () => {
      await this.x.sync();
      await sleep(milliseconds);
    });
  }

  /** The codes of keys that are pressed together; null if a key does not exist. */
  private async codesOf(names: readonly string[]): Promise<number[] | null> {
    const keysyms = names.map(keysymOfKey).filter((keysym) => keysym !== null);
    if (keysyms.length < names.length) return null;
    if ((await this.prepare(keysyms, 0)) < keysyms.length) return null;
    const keys = keysyms.map((keysym) => this.keys.get(keysym)!);
    const needsShift = keys.some(({ shift }) => shift) && !keysyms.includes(SHIFT);
    return [...(needsShift ? [this.keys.get(SHIFT)!] : []), ...keys].map(({ keycode }) => keycode);
  }

  /** Binds missing keysyms. Returns the index up to which the keysyms can then be typed. */
  private async prepare(keysyms: readonly number[], begin: number): Promise<number> {
    const needed = new Set<number>();
    let end = begin;
    for (; end < keysyms.length && end < begin + AT_ONCE; end++) {
      const keysym = keysyms[end];
      if (this.keys.has(keysym) && !this.bound.has(keysym)) continue;
      if (!needed.has(keysym) && needed.size === this.free.length) break;
      needed.add(keysym);
    }
    const missing = [...needed].filter((keysym) => !this.keys.has(keysym));
    // Move needed keys to the end of the queue, so that none of them is rebound.
    for (const keysym of needed) this.refresh(keysym);
    // Programs may still look up the previous binding.
    if (missing.length + this.bound.size > this.free.length) await this.dealtWith();
    for (const keysym of missing) this.bind(keysym);
    if (missing.length > 0) {
      await this.x.sync();
      await sleep(BINDING_MS);
    }
    return end;
  }

  private refresh(keysym: number): void {
    const keycode = this.bound.get(keysym);
    if (keycode === undefined) return;
    this.free.splice(this.free.indexOf(keycode), 1);
    this.free.push(keycode);
  }

  private bind(keysym: number): void {
    const keycode = this.free.shift()!;
    this.free.push(keycode);
    const former = [...this.bound].find(([, code]) => code === keycode)?.[0];
    if (former !== undefined) {
      this.bound.delete(former);
      this.keys.delete(former);
    }
    this.bound.set(keysym, keycode);
    this.keys.set(keysym, { keycode, shift: false });
    this.x.bindKey(keycode, keysym);
  }

  private stroke(keysym: number, invertsShift: boolean): void {
    const { keycode, shift } = this.keys.get(keysym)!;
    const held = shift !== invertsShift ? this.keys.get(SHIFT)!.keycode : null;
    if (held !== null) this.x.fake(FAKE.keyPress, held);
    this.x.fake(FAKE.keyPress, keycode);
    this.x.fake(FAKE.keyRelease, keycode);
    if (held !== null) this.x.fake(FAKE.keyRelease, held);
  }

  private know(keysym: number, key: Key): void {
    if (keysym !== 0 && !this.keys.has(keysym)) this.keys.set(keysym, key);
  }
}

/** Letters with their own key; caps lock affects only these. */
function isLetter(keysym: number): boolean {
  return (keysym >= 0x41 && keysym <= 0x5a) || (keysym >= 0x61 && keysym <= 0x7a);
}
