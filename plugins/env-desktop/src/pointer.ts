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
  private at: Point = [0, 0];
  private isDown = false;

  constructor(private readonly x: XConnection) {}

  async move(at: Point): Promise<void> {
    if (this.isDown) return this.along([this.at, at]);
    this.moveTo(at);
    await this.x.sync();
  }

  /** Clicks once or several times; two separate clicks never become a double click. */
  async click(point: Point, button: MouseButton, count: number): Promise<void> {
    await this.release();
    await this.untilSingle(point);
    this.moveTo(point);
    for (let i = 0; i < count; i++) {
      if (i > 0) await sleep(BETWEEN_CLICKS_MS);
      this.stroke(button);
      await this.x.sync();
    }
    this.clickedAt = performance.now();
    this.clicked = point;
  }

  async hold(point: Point, milliseconds: number): Promise<void> {
    await this.release();
    await this.untilSingle(point);
    await this.press(point);
    await sleep(milliseconds);
    await this.release();
  }

  /** Presses at the first point of a path, moves along it, and releases at the last. */
  async drag(path: readonly Point[]): Promise<void> {
    await this.release();
    await this.untilSingle(path[0]);
    await this.press(path[0]);
    await this.along(path);
    await this.release();
  }

  /** Presses the left button, which stays down. */
  async press(at: Point | null): Promise<void> {
    if (at !== null) this.moveTo(at);
    this.x.fake(FAKE.buttonPress, MOUSE.left);
    await this.x.sync();
    this.isDown = true;
  }

  /** Releases the left button. Returns false if it is not down. */
  async release(at: Point | null = null): Promise<boolean> {
    if (!this.isDown) return false;
    if (at !== null) await this.along([this.at, at]);
    this.isDown = false;
    this.x.fake(FAKE.buttonRelease, MOUSE.left);
    await this.x.sync();
    return true;
  }

  /** Moves from the first point of a path to its last. */
  private async along(path: readonly Point[]): Promise<void> {
    const steps = Math.ceil(PATH_STEPS / (path.length - 1));
    for (const [index, to] of path.slice(1).entries()) {
      for (let step = 1; step <= steps; step++) {
        const at = (axis: 0 | 1) =>
          Math.round(path[index][axis] + ((to[axis] - path[index][axis]) * step) / steps);
        this.moveTo([at(0), at(1)]);
        await this.x.sync();
        await sleep(PATH_MS);
      }
    }
  }

  private moveTo(at: Point): void {
    this.x.fake(FAKE.motion, 0, ...at);
    this.at = at;
  }

  async scroll(point: Point, direction: Direction, notches: number): Promise<void> {
    this.moveTo(point);
    for (let i = 0; i < notches; i++) this.stroke(WHEEL[direction]);
    await this.x.sync();
  }

  private stroke(button: number): void {
    this.x.fake(FAKE.buttonPress, button);
    this.x.fake(FAKE.buttonRelease, button);
  }

  private async untilSingle([x, y]: Point): Promise<void> {
    const isNear = Math.abs(x - this.clicked[0]) <= SAME_PLACE && Math.abs(y - this.clicked[1]) <= SAME_PLACE;
    const left = this.clickedAt + DOUBLE_CLICK_MS - performance.now();
    if (isNear && left > 0) await sleep(left);
  }
}
