import type { EnvironmentComponent, VerifierComponent } from '@ui-rl/plugin-kit';
import { AndroidEnvironment } from './environment';
import { VARIABLES } from './machine';
import { AndroidOptions } from './options';
import { canBeJudged, verifyDevice } from './verifier';

const android: EnvironmentComponent<AndroidOptions> = {
  kind: 'environment',
  name: 'android',
  description: 'Android devices and emulators behind an adb server.',
  options: AndroidOptions,
  environment: VARIABLES,
  opensByItself: true,
  isPhone: () => true,
  create: (options, context) => AndroidEnvironment.create(options, context),
};

const adb: VerifierComponent = {
  kind: 'verifier',
  name: 'adb',
  description:
    'The conditions that the validators of a task query on the device at the end of the episode must hold, and the checks of the task.',
  judges: canBeJudged,
  create: () => ({ verify: (episode) => verifyDevice(episode) }),
};

/** Phones. `README.md` beside `src` documents the task options. */
export const components = [android, adb];
