import type { BrowserContextOptions } from 'playwright';
import type { PageRules, PageSpec } from './page-spec';
import { readStorageState } from './storage-state';

/** What a login has stored, in the folder of the service. */
export function storedOf({ storageState }: PageSpec, { storageStates }: PageRules): BrowserContextOptions {
  return storageState === null ? {} : { storageState: readStorageState(storageStates, storageState) };
}

/** What makes all machines show a page alike. */
export function lookOf({ viewport, input, device }: PageSpec): BrowserContextOptions {
  return {
    viewport,
    deviceScaleFactor: device?.deviceScaleFactor ?? 1,
    // Not as a phone lays pages out (`isMobile`): one that is shown smaller than it is laid out has coordinates that are not its pixels.
    ...(device === null ? {} : { userAgent: device.userAgent }),
    ...(device?.screen === undefined ? {} : { screen: device.screen }),
    hasTouch: input === 'touch',
    locale: 'en-US',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  };
}
