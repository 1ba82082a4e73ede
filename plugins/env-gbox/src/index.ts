import type { EnvironmentComponent } from '@ui-rl/plugin-kit';
import { GboxEnvironment } from './environment';
import { VARIABLES } from './machine';
import { GboxOptions } from './options';

/** Boxes of GBox. `README.md` beside `src` documents the task options. */
const gbox: EnvironmentComponent<GboxOptions> = {
  kind: 'environment',
  name: 'gbox',
  description: "Android and Linux in GBox's cloud, a box for each episode.",
  options: GboxOptions,
  environment: VARIABLES,
  opensByItself: true,
  isPhone: ({ box_type: type }) => type === 'android',
  create: (options, context) => GboxEnvironment.create(options, context),
};

export default gbox;
