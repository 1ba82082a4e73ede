import type { Focus } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import { FrameWalk } from './frame-walk';
import { ACTIVE_ELEMENT, FOCUS } from './survey-script';

/** Maximum depth of nested frames. */
const MAX_DEPTH = 8;

/** The focus as reported by one document. */
export interface ToldFocus extends Focus {
  /** Whether it is a frame element, whose document may have its own focused element. */
  isFrame: boolean;
}

/**
 * The focused element, followed into frames of any site. If a frame cannot be inspected, its input counts as secret.
 *
 * @param told the focus reported by the page's own document
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
