import type { Opened } from './world';

export type Click = [number, number];

/** A page that is played by its screen text. */
export class Screen {
  readonly clicks: Click[] = [];
  done = false;

  constructor(
    private readonly opened: Opened,
    private text: string,
  ) {}

  has(line: RegExp): boolean {
    return this.find(line) !== null;
  }

  /** Clicks the center of the first matching line of the screen that has a position. */
  async click(line: RegExp): Promise<void> {
    await this.clickAt(this.place(line));
  }

  async clickAt([x, y]: Click): Promise<void> {
    this.clicks.push([x, y]);
    await this.act({ action: 'click', x, y });
  }

  async type(text: string): Promise<void> {
    await this.act({ action: 'type', text });
  }

  async scroll(line: RegExp, direction: 'up' | 'down'): Promise<void> {
    const [x, y] = this.place(line);
    await this.act({ action: 'scroll', direction, amount: 1, x, y });
  }

  /** The first group of a matching line. */
  read(line: RegExp): string | undefined {
    return line.exec(this.text)?.[1];
  }

  private place(line: RegExp): Click {
    const found = this.find(line);
    if (found === null) throw new Error(`${line} is not on the screen:\n${this.text}`);
    return found;
  }

  private find(line: RegExp): Click | null {
    const found = this.text.split('\n').find((each) => line.test(each) && /\(\d+,\d+\)$/.test(each));
    const [, x, y] = /\((\d+),(\d+)\)$/.exec(found ?? '') ?? [];
    return found === undefined ? null : [Number(x), Number(y)];
  }

  private async act(action: object): Promise<void> {
    const { text, done } = await this.opened.step(action);
    this.text = text ?? '';
    this.done ||= done;
  }
}
