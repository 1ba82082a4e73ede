import { keystrokesOf, playwrightKey, type Action } from '@ui-rl/plugin-kit';
import type { CDPSession, Page } from 'playwright';
import type { GeneratedPage, Screen } from '../page';
import { decodePng } from '../render/pixels';
import { TRUTH } from '../render/truth-script';
import type { ScreenTruth } from '../truth';

/** An action on a page, in the action format of all environments. */
export type PageAction = Action;

/** CSS pixels per mouse-wheel notch. */
const NOTCH = 100;
const DRAG_STEPS = 5;
const TOWARDS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] } as const;
const KEYS = { enter: 'Enter', tab: 'Tab' } as const;
const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))';

/** An event of an element: `click`, `change`, `select`, `drop`, `submit`, `enter`, `sort`, `move`. */
export interface PageEvent {
  id: number;
  event: string;
  value?: unknown;
}

/** A page in its own viewport, with working widgets. */
export class LivePage {
  constructor(
    readonly generated: GeneratedPage,
    private readonly page: Page,
    private readonly cdp: CDPSession,
    private readonly release: () => Promise<void>,
  ) {}

  /** The current screen, after it has settled. */
  async screen(): Promise<Screen> {
    const { seed, width, height } = this.generated;
    const [{ rgb }, truth] = await Promise.all([decodePng(await this.png()), this.truth()]);
    return { seed, width, height, rgb, truth };
  }

  /** The pixels of the current screen as a PNG, after it has settled. */
  async png(): Promise<Buffer> {
    await this.page.evaluate(TWO_FRAMES);
    const { data } = await this.cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true });
    return Buffer.from(data, 'base64');
  }

  /** The ground truth alone, without a screenshot. */
  async truth(): Promise<ScreenTruth> {
    return JSON.parse(
      await this.page.evaluate<string>(`JSON.stringify((${TRUTH})(document))`),
    ) as ScreenTruth;
  }

  /** Performs an action with mouse and keyboard. Ignores `wait`, `finish` and device buttons. */
  async perform(action: PageAction): Promise<void> {
    const { mouse } = this.page;
    switch (action.action) {
      case 'click':
        return mouse.click(action.x, action.y);
      case 'double_click':
        return mouse.dblclick(action.x, action.y);
      case 'triple_click':
        return mouse.click(action.x, action.y, { clickCount: 3 });
      case 'right_click':
        return mouse.click(action.x, action.y, { button: 'right' });
      case 'middle_click':
        return mouse.click(action.x, action.y, { button: 'middle' });
      case 'long_press':
        return mouse.click(action.x, action.y, { delay: 1000 * (action.seconds ?? 0.8) });
      case 'move':
        return mouse.move(action.x, action.y);
      case 'type':
        return this.type(action.text);
      case 'key':
        return this.page.keyboard.press(action.keys.map(playwrightKey).join('+'));
      case 'scroll':
        return this.scroll(action);
      case 'drag':
        return this.drag(action.from, action.to);
      default:
        return undefined;
    }
  }

  /** Values of the elements by id, and the events in order under `events`. */
  async state(): Promise<Record<string, unknown> & { events: PageEvent[] }> {
    return JSON.parse(
      await this.page.evaluate<string>('JSON.stringify({ ...__parts, events: __events })'),
    ) as Record<string, unknown> & { events: PageEvent[] };
  }

  async close(): Promise<void> {
    await this.release();
  }

  private async type(text: string): Promise<void> {
    for (const stroke of keystrokesOf(text).strokes) {
      if ('text' in stroke) await this.page.keyboard.type(stroke.text);
      else await this.page.keyboard.press(KEYS[stroke.key]);
    }
  }

  private async scroll({ direction, amount, x, y }: Extract<Action, { action: 'scroll' }>): Promise<void> {
    const { width, height } = this.generated;
    const [towardsX, towardsY] = TOWARDS[direction];
    await this.page.mouse.move(x ?? width / 2, y ?? height / 2);
    for (let i = 0; i < amount; i++) await this.page.mouse.wheel(towardsX * NOTCH, towardsY * NOTCH);
    await this.page.evaluate(TWO_FRAMES);
  }

  private async drag(from: readonly [number, number], to: readonly [number, number]): Promise<void> {
    const { mouse } = this.page;
    await mouse.move(...from);
    await mouse.down();
    await mouse.move(...to, { steps: DRAG_STEPS });
    await mouse.up();
  }
}
