import type { EnvironmentComponent, EnvironmentPlugin } from '@ui-rl/plugin-kit';
import { BrowserOptions } from './browser-options';
import { BrowserEnvironment } from './environment';

/** Pages in headless Chromium. See `README.md` beside `src` for the options of a task and what a page may offer. */
const browser: EnvironmentPlugin = {
  kind: 'environment',
  name: 'browser',
  create: (options) => BrowserEnvironment.create(options),
};

export default browser;

const component: EnvironmentComponent<BrowserOptions> = {
  kind: 'environment',
  name: 'browser',
  description: 'pages in headless Chromium',
  options: BrowserOptions,
  create: (options, context) =>
    BrowserEnvironment.create({ ...context, settings: Object.fromEntries(Object.entries(options)) }),
};

export const components = [component];
