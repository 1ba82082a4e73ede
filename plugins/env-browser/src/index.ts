import type { EnvironmentComponent } from '@ui-rl/plugin-kit';
import { BrowserOptions, conflictsOf } from './options';
import { BrowserEnvironment } from './environment';
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
      'folder with what logins have stored, <name>.json as Playwright writes it, for tasks that name one',
    [RECORDINGS]: 'folder that recordings of episodes are written to, where a run records any',
  },
  conflicts: conflictsOf,
  create: (options, context) => BrowserEnvironment.create(options, context),
};

export default browser;
