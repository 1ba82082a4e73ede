import { PassThrough } from 'node:stream';
import type { Terminal } from '@ui-rl/api';
import { eventually } from '@ui-rl/testkit';

/** A terminal as a program sees it: keys arrive raw during line editing. */
export class Screen {
  /** Everything that was written. */
  text = '';
  interrupts = 0;
  isRaw = false;
  private readonly keys = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => void (this.isRaw = isRaw),
  });
  readonly terminal: Terminal;

  constructor() {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
    output.on('data', (some: Buffer) => (this.text += some.toString()));
    this.terminal = { input: this.keys, output, interrupt: () => void (this.interrupts += 1) };
  }

  type(keys: string): void {
    this.keys.write(keys);
  }

  async shows(text: string): Promise<void> {
    await eventually(`"${text}" on the screen`, () => this.text.includes(text), 20_000);
  }
}
