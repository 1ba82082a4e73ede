import type { BrowserContextOptions } from 'playwright';
import type { PageRules, PageSpec } from './page-spec';
import { readStorageState } from './storage-state';

/** Login state from the service's storage-state folder. */
export function storedOf({ storageState }: PageSpec, { storageStates }: PageRules): BrowserContextOptions {
  return storageState === null ? {} : { storageState: readStorageState(storageStates, storageState) };
}

/** Options that make pages look the same on all machines. */
export function lookOf({ viewport, input, device }: PageSpec): BrowserContextOptions {
  return {
    viewport,
    deviceScaleFactor: device?.deviceScaleFactor ?? 1,
    // `isMobile` stays off: a page that is laid out wider than it is displayed would have coordinates that differ
    // from screenshot pixels.
    ...(device === null ? {} : { userAgent: device.userAgent }),
    ...(device?.screen === undefined ? {} : { screen: device.screen }),
    hasTouch: input === 'touch',
    locale: 'en-US',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  };
}
