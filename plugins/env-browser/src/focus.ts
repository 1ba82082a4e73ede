import type { Focus } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import { FrameWalk } from './frame-walk';
import { ACTIVE_ELEMENT, FOCUS } from './survey-script';

/** Frames in each other that are followed. */
const MAX_DEPTH = 8;

/** As a document tells it. */
export interface ToldFocus extends Focus {
  /** Whether it is the element of a frame, which may have an element that has the keyboard. */
  isFrame: boolean;
}

/**
 * What has the keyboard, where a page says that one of its frames has it: in that frame, from whichever site it is. Where nobody can look
 * into it, what is typed there counts as secret.
 *
 * @param told by the page's own document
 */
export async function focusWithin(
  { cdp, page }: Pick<BrowserTab, 'cdp' | 'page'>,
  told: ToldFocus | null,
): Promise<Focus | null> {
  if (told === null) return null;
  const { isFrame, ...focus } = told;
  if (!isFrame) return focus;
  const walk = new FrameWalk(page, cdp);
  try {
    let at = await walk.top();
    let found: Focus = focus;
    for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
      const frame = await walk.into(at, ACTIVE_ELEMENT);
      if (frame === null) return found;
      at = frame;
      const inside = await walk.evaluate<ToldFocus | null>(at, FOCUS);
      if (inside === null) return found;
      const { isFrame: isOuter, selector, ...rest } = inside;
      found = { ...rest, selector: `${found.selector} >> ${selector}` };
      if (!isOuter) return found;
    }
    return found;
  } catch {
    return { selector: focus.selector, isSecret: true };
  } finally {
    await walk.end();
  }
}
