import type { EnvironmentComponent, TaskSourceComponent } from '@ui-rl/plugin-kit';
import type * as EnvironmentModule from './environment';
import { ENVIRONMENT, GeneratedPagesOptions, SOURCE } from './options';
import type * as TasksModule from './tasks';

// Only runs on generated pages load the page generator.
const environment: EnvironmentComponent = {
  kind: 'environment',
  name: ENVIRONMENT,
  description: 'Random pages of real HTML widgets, each with a goal and a check.',
  create: (_options, context) => {
    // oxlint-disable-next-line typescript/no-require-imports -- see above
    const { GeneratedPages } = require('./environment') as typeof EnvironmentModule;
    return Promise.resolve(new GeneratedPages(context));
  },
};

const source: TaskSourceComponent<GeneratedPagesOptions> = {
  kind: 'task-source',
  name: SOURCE,
  description: 'Tasks on generated pages: one for each kind, with another page and goal in each episode.',
  options: GeneratedPagesOptions,
  create: (options) => ({
    load: () => {
      // oxlint-disable-next-line typescript/no-require-imports -- see above
      const { tasksOf } = require('./tasks') as typeof TasksModule;
      return tasksOf(options);
    },
  }),
};

/** Unlimited tasks on pages of the page generator. */
export const components = [environment, source];
