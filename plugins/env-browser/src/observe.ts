import type { Region, Screenshot } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import type { BrowserOptions } from './options';
import { pageText } from './page-text';
import type { Popups } from './popups/popups';
import { screenText } from './screen-text';

const MAX_TITLE = 100;

/** The observation options. */
export type Observing = Pick<BrowserOptions, 'observation' | 'text_length'>;

/**
 * The policy's current observation. The screenshot is always taken: it is recorded for users, and positions in the
 * text are its pixels.
 *
 * @param region the part of the viewport that the screenshot shows; null for all of it. The text is about all of it
 */
export async function observe(
  tab: BrowserTab,
  popups: Popups,
  options: Observing,
  region: Region | null = null,
): Promise<Screenshot> {
  if (options.observation === 'screenshot') return popups.capture(region);
  const windows = await windowLines(tab);
  const length = options.text_length - windows.length;
  const textOfScreen = async () =>
    windows + (await tab.answers.afterNavigation(() => screenText(tab, length, popups.over())));
  const wasOpen = popups.over() !== null;
  const [screenshot, textBefore] = await Promise.all([popups.capture(region), textOfScreen()]);
  // Whether a popup is open is known only after the screenshot.
  const text = wasOpen || popups.over() !== null ? await textOfScreen() : textBefore;
  return Object.assign(screenshot, { text }, options.observation === 'text' ? { textOnly: true } : {});
}

/** A line for each window with its number, if there are several. */
async function windowLines({ cdp, windows }: BrowserTab): Promise<string> {
  if (windows.count === 1) return '';
  const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{ type: 'page' }] });
  const titles = new Map(targetInfos.map(({ targetId, title }) => [targetId, title]));
  const line = (id: string, index: number) => {
    const title = pageText(titles.get(id) ?? '', MAX_TITLE).replaceAll(/\s+/g, ' ');
    return `window ${index + 1} ${JSON.stringify(title)}${index === windows.at ? ' shown' : ''}\n`;
  };
  return windows.targets.map(line).join('');
}
