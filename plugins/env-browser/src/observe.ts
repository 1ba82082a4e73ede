import type { Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import type { BrowserOptions } from './options';
import type { Popups } from './popups/popups';
import { screenText } from './screen-text';

/** How a page is shown to policies. */
export type Observing = Pick<BrowserOptions, 'observation' | 'text_length'>;

/** What a policy sees of a page now. The picture is made in any case: people look at it, and places in the text are its pixels. */
export async function observe(tab: BrowserTab, popups: Popups, options: Observing): Promise<Screenshot> {
  if (options.observation === 'screenshot') return popups.capture();
  const textOfScreen = () => tab.afterNavigation(() => screenText(tab, options.text_length, popups.over()));
  const wasOpen = popups.over() !== null;
  const [screenshot, textBefore] = await Promise.all([popups.capture(), textOfScreen()]);
  // What is open is known with the screenshot.
  const text = wasOpen || popups.over() !== null ? await textOfScreen() : textBefore;
  return Object.assign(screenshot, { text }, options.observation === 'text' ? { textOnly: true } : {});
}
