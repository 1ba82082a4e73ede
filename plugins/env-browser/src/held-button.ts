import type { Point } from '@ui-rl/plugin-kit';
import type { Mouse } from 'playwright';

/** Events of a movement while the button is down: drag and drop needs several. */
const STEPS = 5;

/** The left button of a page that stays down between actions. */
export class HeldButton {
  isDown = false;
  /** Position of the pointer. */
  private at: Point = [0, 0];

  constructor(private readonly mouse: Mouse) {}

  get place(): Point {
    return this.at;
  }

  /** Notes where another action has left the pointer. */
  moved(at: Point): void {
    this.at = at;
  }

  async press(at: Point): Promise<void> {
    await this.mouse.move(...at);
    await this.mouse.down();
    this.isDown = true;
  }

  /** Moves with the button down. */
  async drag(at: Point): Promise<void> {
    await this.mouse.move(...at, { steps: STEPS });
  }

  /** Releases it where the pointer is. */
  async release(): Promise<void> {
    if (!this.isDown) return;
    this.isDown = false;
    await this.mouse.up();
  }
}
