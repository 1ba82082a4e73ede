import type { Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import type { BrowserOptions } from './options';
import { screenText } from './screen-text';

/** How a page is shown to policies. */
export type Observing = Pick<BrowserOptions, 'observation' | 'text_length'>;

/** What a policy sees of a page now. The picture is made in any case: people look at it, and places in the text are its pixels. */
export async function observe(tab: BrowserTab, options: Observing): Promise<Screenshot> {
  if (options.observation === 'screenshot') return tab.capture();
  const [screenshot, text] = await Promise.all([
    tab.capture(),
    tab.afterNavigation(() => screenText(tab, options.text_length)),
  ]);
  return Object.assign(screenshot, { text }, options.observation === 'text' ? { textOnly: true } : {});
}
