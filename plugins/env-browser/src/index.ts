import type { EnvironmentPlugin } from '@ui-rl/plugin-kit';
import { BrowserEnvironment } from './environment';

/** Pages in headless Chromium. See `README.md` beside `src` for the options of a task and what a page may offer. */
const browser: EnvironmentPlugin = {
  kind: 'environment',
  name: 'browser',
  create: (options) => BrowserEnvironment.create(options),
};

export default browser;
