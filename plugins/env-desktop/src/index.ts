import type { EnvironmentComponent } from '@ui-rl/plugin-kit';
import { DesktopEnvironment } from './environment';
import { PROGRAM_VARIABLES } from './find-programs';
import { DesktopOptions } from './options';

/**
 * Programs on desktops of this machine. `README.md` beside `src` documents the task options and the list of
 * applications.
 */
const desktop: EnvironmentComponent<DesktopOptions> = {
  kind: 'environment',
  name: 'desktop',
  description: 'Programs on desktops of Linux, by mouse and keyboard.',
  options: DesktopOptions,
  environment: {
    DESKTOP_APPLICATIONS:
      'file that lists the programs which tasks of the environment `desktop` may show (none); see docs/guides/desktop.md',
    DESKTOP_CONFINEMENT:
      'off: programs on desktops of a service that is not root run as its user, read its files and can end it (on)',
    ...PROGRAM_VARIABLES,
  },
  create: (options, context) => DesktopEnvironment.create(options, context),
};

export default desktop;
