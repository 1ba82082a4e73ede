import { setTimeout as sleep } from 'node:timers/promises';
import { playwrightKey } from '@ui-rl/plugin-kit';
import type { Keyboard } from 'playwright';

/** How long a key is down before it repeats, and the interval of repetitions, as X does. */
const REPEAT_AFTER_MS = 500;
const REPEAT_MS = 40;

/** Bits of the modifiers in input events of DevTools. */
const BITS: Readonly<Record<string, number>> = { alt: 1, ctrl: 2, meta: 4, shift: 8 };

/** The keys of a page that are down, by their names in the vocabulary. */
export class HeldKeys {
  private readonly held = new Set<string>();

  constructor(private readonly keyboard: Keyboard) {}

  /** The modifiers among them, for pointer events, which do not pass through Playwright's keyboard. */
  get modifiers(): number {
    return [...this.held].reduce((bits, key) => bits | (BITS[key] ?? 0), 0);
  }

  /** Holds keys during work; those that are down already stay down. */
  async during(keys: readonly string[], work?: () => Promise<void>): Promise<void> {
    const pressed = keys.filter((key) => !this.held.has(key));
    for (const key of pressed) await this.press(key);
    await work?.();
    for (const key of pressed.toReversed()) await this.release(key);
  }

  /** Holds keys for a time; the last one repeats, unless it is a modifier. */
  async hold(keys: readonly string[], milliseconds: number): Promise<void> {
    const last = keys[keys.length - 1];
    const until = performance.now() + milliseconds;
    const rest = (most: number) => sleep(Math.max(0, Math.min(most, until - performance.now())));
    await this.during(keys, async () => {
      if (last in BITS) return rest(milliseconds);
      await rest(REPEAT_AFTER_MS);
      for (; performance.now() < until; await rest(REPEAT_MS)) await this.keyboard.down(playwrightKey(last));
    });
  }

  /** Releases all keys, the last one first. */
  async releaseAll(): Promise<void> {
    for (const key of [...this.held].toReversed()) await this.release(key);
  }

  get isEmpty(): boolean {
    return this.held.size === 0;
  }

  async press(key: string): Promise<void> {
    this.held.add(key);
    await this.keyboard.down(playwrightKey(key));
  }

  /** Returns false if it is not down. */
  async release(key: string): Promise<boolean> {
    if (!this.held.delete(key)) return false;
    await this.keyboard.up(playwrightKey(key));
    return true;
  }
}
