import type { FrameDocument } from '../frame-walk';
import { FrameWalk } from '../frame-walk';
import type { BrowserTab } from '../browser-tab';
import type { Control } from './control';
import { CHOOSE, FIND_OPENED, FIND_WITHIN, KEEP_FOUND, TELL_OPENED } from './control-script';
import { PAINT } from './paint-script';
import type { Box, PaintOp, Size } from './popup';

/** Maximum depth of nested frames. */
const MAX_DEPTH = 8;

/** Position of a frame's viewport within the enclosing viewport. */
interface FrameView {
  x: number;
  y: number;
  scaleX: number;
  scaleY: number;
}

/** A report of a document about the found element. */
type Told = { control: Control } | { frame: FrameView } | { isHost: true } | null;

/** The value to set, and whether a `change` event is sent. */
export type Setting = { index: number } | { value: string; tellsChange: boolean };

/** A control whose popup the browser has opened, in the page or in one of its frames. */
export class OpenedControl {
  private constructor(
    private readonly walk: FrameWalk,
    /** Documents from the main document to the one that contains the control. */
    private readonly route: readonly FrameDocument[],
    /** State at the time it was found; its box is in the page's viewport. */
    readonly control: Control,
  ) {}

  /** The control with an open popup; null if there is none. */
  static async find({ page, cdp }: Pick<BrowserTab, 'page' | 'cdp'>): Promise<OpenedControl | null> {
    const walk = new FrameWalk(page, cdp);
    const found = await OpenedControl.follow(walk).catch(() => null);
    if (found === null) await walk.end();
    return found;
  }

  private static async follow(walk: FrameWalk): Promise<OpenedControl | null> {
    const route = [await walk.top()];
    const views: FrameView[] = [];
    while (route.length <= MAX_DEPTH) {
      const at = route.at(-1)!;
      const told = await findIn(walk, at);
      if (told === null || 'isHost' in told) return null;
      if ('control' in told) return new OpenedControl(walk, route, outwards(told.control, views));
      const inside = await walk.into(at, 'globalThis.uirlFound');
      if (inside === null) return null;
      views.push(told.frame);
      route.push(inside);
    }
    return null;
  }

  /** Whether the browser draws nothing for it, as with suggestions. */
  get isUndrawn(): boolean {
    return this.control.kind === 'suggestions';
  }

  /** Stores it in its documents for later queries. */
  async keep(): Promise<void> {
    for (const document of this.route) await this.walk.evaluate(document, KEEP_FOUND).catch(() => undefined);
  }

  /** Its current state; null if it was removed. */
  async tell(): Promise<Control | null> {
    const views: FrameView[] = [];
    for (const at of this.route) {
      const told = await this.walk.evaluate<Told>(at, TELL_OPENED).catch(() => null);
      if (told === null || 'isHost' in told) return null;
      if ('control' in told) return outwards(told.control, views);
      views.push(told.frame);
    }
    return null;
  }

  async choose(setting: Setting): Promise<void> {
    // A page may navigate while it handles the events.
    await this.evaluate(`(${CHOOSE})(${JSON.stringify(setting)})`).catch(() => undefined);
  }

  /** A PNG drawn with the fonts of the control's document; null if the document is gone. */
  async paint(size: Size, scale: number, ops: readonly PaintOp[]): Promise<Buffer | null> {
    const picture = this.evaluate<string>(
      `(${PAINT})(${JSON.stringify(size)}, ${scale}, ${JSON.stringify(ops)})`,
    );
    return picture.then(
      (base64) => Buffer.from(base64, 'base64'),
      () => null,
    );
  }

  end(): Promise<void> {
    return this.walk.end();
  }

  private evaluate<T>(expression: string): Promise<T> {
    return this.walk.evaluate<T>(this.route.at(-1)!, expression, { userGesture: true });
  }
}

async function findIn(walk: FrameWalk, at: FrameDocument): Promise<Told> {
  let told = await walk.evaluate<Told>(at, FIND_OPENED);
  for (let depth = 0; told !== null && 'isHost' in told && depth < MAX_DEPTH; depth += 1) {
    told = await walk.evaluateInShadow<Told>(at, 'globalThis.uirlFound', FIND_WITHIN);
  }
  return told;
}

function outwards(control: Control, views: readonly FrameView[]): Control {
  const box = views.toReversed().reduce<Box>(
    ({ x, y, width, height }, view) => ({
      x: view.x + x * view.scaleX,
      y: view.y + y * view.scaleY,
      width: width * view.scaleX,
      height: height * view.scaleY,
    }),
    control.box,
  );
  return { ...control, box };
}
