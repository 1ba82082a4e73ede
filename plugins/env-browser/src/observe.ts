import type { Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import type { BrowserOptions } from './options';
import type { Popups } from './popups/popups';
import { screenText } from './screen-text';

/** The observation options. */
export type Observing = Pick<BrowserOptions, 'observation' | 'text_length'>;

/**
 * The policy's current observation. The screenshot is always taken: it is recorded for users, and positions in the
 * text are its pixels.
 */
export async function observe(tab: BrowserTab, popups: Popups, options: Observing): Promise<Screenshot> {
  if (options.observation === 'screenshot') return popups.capture();
  const textOfScreen = () =>
    tab.answers.afterNavigation(() => screenText(tab, options.text_length, popups.over()));
  const wasOpen = popups.over() !== null;
  const [screenshot, textBefore] = await Promise.all([popups.capture(), textOfScreen()]);
  // Whether a popup is open is known only after the screenshot.
  const text = wasOpen || popups.over() !== null ? await textOfScreen() : textBefore;
  return Object.assign(screenshot, { text }, options.observation === 'text' ? { textOnly: true } : {});
}
