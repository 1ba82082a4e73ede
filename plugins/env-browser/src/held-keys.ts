import { playwrightKey } from '@ui-rl/plugin-kit';
import type { Keyboard } from 'playwright';

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

  private async press(key: string): Promise<void> {
    this.held.add(key);
    await this.keyboard.down(playwrightKey(key));
  }

  private async release(key: string): Promise<void> {
    if (this.held.delete(key)) await this.keyboard.up(playwrightKey(key));
  }
}
