import { type RewardComponent, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { HarborOptions, HarborTestsOptions } from './options';
import { HarborTests, TESTS_VARIABLE } from './reward';
import { harborTasks } from './tasks';

/** Tasks of Harbor whose desktop is an MCP server. See `README.md` beside `src`. */
export const harbor: TaskSourceComponent<HarborOptions> = {
  kind: 'task-source',
  name: 'harbor',
  description: 'Task folders of Harbor whose environment is a running MCP server.',
  options: HarborOptions,
  create: (options) => ({ load: () => harborTasks(options) }),
};

/** The tests of such tasks. */
export const harborTests: RewardComponent<HarborTestsOptions> = {
  kind: 'reward',
  name: 'harbor-tests',
  description: 'The reward that tests/test.sh of a Harbor task writes, in a sandbox without the container.',
  options: HarborTestsOptions,
  judgesWithoutVerifier: true,
  environment: {
    [TESTS_VARIABLE]:
      'whether tests/test.sh of Harbor tasks may run, in a sandbox: offline, or network (all servers that this machine reaches); default: they never run',
  },
  create: async (options, { environment, log }) => HarborTests.of(options, environment[TESTS_VARIABLE], log),
};

export const components = [harbor, harborTests];
