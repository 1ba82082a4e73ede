import type { EnvironmentComponent } from '@ui-rl/plugin-kit';
import { BrowserOptions, conflictsOf } from './options';
import { BrowserEnvironment } from './environment';
import { FILES } from './fixture-files';
import { RECORDINGS } from './recording';
import { STORAGE_STATES } from './storage-state';

/**
 * Pages in headless Chromium. `README.md` beside `src` documents the task options and the functions a page may offer.
 */
const browser: EnvironmentComponent<BrowserOptions> = {
  kind: 'environment',
  name: 'browser',
  description: 'Pages in headless Chromium.',
  options: BrowserOptions,
  environment: {
    [STORAGE_STATES]:
      'folder with saved logins, <name>.json in the storageState format of Playwright, for tasks that name one',
    [FILES]: 'folder with files that file choosers of web pages offer, for tasks that name them',
    [RECORDINGS]: 'folder for recordings of episodes',
  },
  conflicts: conflictsOf,
  create: (options, context) => BrowserEnvironment.create(options, context),
};

export default browser;
