import { findChromium } from '@ui-rl/plugin-kit';
import { BrowserError } from './errors';

/** Like `findChromium`, but throws `BrowserError` if there is none. */
export function findBrowser(named: string | undefined, downloaded: string): string {
  try {
    return findChromium(named, downloaded);
  } catch (cause) {
    throw new BrowserError('no_browser', (cause as Error).message, { cause });
  }
}
