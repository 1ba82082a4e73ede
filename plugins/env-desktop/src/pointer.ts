import { setTimeout as sleep } from 'node:timers/promises';
import type { Direction, Point } from '@ui-rl/plugin-kit';
import { FAKE, type XConnection } from './x-connection';

export const MOUSE = { left: 1, middle: 2, right: 3 } as const;
type MouseButton = (typeof MOUSE)[keyof typeof MOUSE];

/** X reports wheel movement as buttons. */
const WHEEL: Record<Direction, number> = { up: 4, down: 5, left: 6, right: 7 };
const PATH_STEPS = 10;
/** Interval between the movements of a drag: programs merge faster ones. */
const PATH_MS = 8;
/**
 * Pause after a click before another click at the same place, which toolkits would otherwise treat as a double click.
 */
const DOUBLE_CLICK_MS = 600;
/** Some programs merge two clicks within the same millisecond. */
const BETWEEN_CLICKS_MS = 20;
const SAME_PLACE = 8;

/** The mouse of a display. */
export class Pointer {
  private clickedAt = -Infinity;
  private clicked: Point = [0, 0];

  constructor(private readonly x: XConnection) {}

  async move([x, y]: Point): Promise<void> {
    this.x.fake(FAKE.motion, 0, x, y);
    await this.x.sync();
  }

  /** Clicks once or several times; two separate clicks never become a double click. */
  async click(point: Point, button: MouseButton, count: number): Promise<void> {
    await this.untilSingle(point);
    this.x.fake(FAKE.motion, 0, ...point);
    for (let i = 0; i < count; i++) {
      if (i > 0) await sleep(BETWEEN_CLICKS_MS);
      this.press(button);
      await this.x.sync();
    }
    this.clickedAt = performance.now();
    this.clicked = point;
  }

  async hold(point: Point, milliseconds: number): Promise<void> {
    await this.untilSingle(point);
    this.x.fake(FAKE.motion, 0, ...point);
    this.x.fake(FAKE.buttonPress, MOUSE.left);
    await this.x.sync();
    await sleep(milliseconds);
    this.x.fake(FAKE.buttonRelease, MOUSE.left);
    await this.x.sync();
  }

  async drag(from: Point, to: Point): Promise<void> {
    await this.untilSingle(from);
    this.x.fake(FAKE.motion, 0, ...from);
    this.x.fake(FAKE.buttonPress, MOUSE.left);
    for (let step = 1; step <= PATH_STEPS; step++) {
      await this.x.sync();
      await sleep(PATH_MS);
      const part = step / PATH_STEPS;
      const at = (axis: 0 | 1) => Math.round(from[axis] + (to[axis] - from[axis]) * part);
      this.x.fake(FAKE.motion, 0, at(0), at(1));
    }
    await this.x.sync();
    await sleep(PATH_MS);
    this.x.fake(FAKE.buttonRelease, MOUSE.left);
    await this.x.sync();
  }

  async scroll(point: Point, direction: Direction, notches: number): Promise<void> {
    this.x.fake(FAKE.motion, 0, ...point);
    for (let i = 0; i < notches; i++) this.press(WHEEL[direction]);
    await this.x.sync();
  }

  private press(button: number): void {
    this.x.fake(FAKE.buttonPress, button);
    this.x.fake(FAKE.buttonRelease, button);
  }

  private async untilSingle([x, y]: Point): Promise<void> {
    const isNear = Math.abs(x - this.clicked[0]) <= SAME_PLACE && Math.abs(y - this.clicked[1]) <= SAME_PLACE;
    const left = this.clickedAt + DOUBLE_CLICK_MS - performance.now();
    if (isNear && left > 0) await sleep(left);
  }
}
