import type { BrowserTab } from '../browser-tab';
import { FrameWalk } from '../frame-walk';

const LISTEN = `void addEventListener('contextmenu', (event) => { globalThis.uirlMenu = event; }, { capture: true, once: true })`;
const WAS_LEFT = `(() => {
  const event = globalThis.uirlMenu;
  globalThis.uirlMenu = undefined;
  return event !== undefined && !event.defaultPrevented;
})()`;

/**
 * Whether a press opens the browser's own context menu, which is not visible in screenshots: the document received
 * the event and did not show its own menu instead.
 */
export async function asksForMenu(
  { page, cdp }: Pick<BrowserTab, 'page' | 'cdp'>,
  press: () => Promise<void>,
): Promise<boolean> {
  const walk = new FrameWalk(page, cdp);
  const ask = async <T>(expression: string) => walk.evaluate<T>(await walk.top(), expression);
  // A page that navigates has no menu.
  await ask<void>(LISTEN).catch(() => undefined);
  await press();
  return ask<boolean>(WAS_LEFT).catch(() => false);
}
