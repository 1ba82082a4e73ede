import type { RewardComponent, RewardPlugin } from '@ui-rl/plugin-kit';

/** 1 where the verifier says that the task is done, else 0, also where the task has nothing to verify. */
const plugin: RewardPlugin = {
  kind: 'reward',
  name: 'task-success',
  score: ({ success }) => (success === true ? 1 : 0),
};

export default plugin;

const taskSuccess: RewardComponent = {
  kind: 'reward',
  name: 'task-success',
  description: '1 where the verifier says that the task is done, else 0',
  create: () => ({ score: ({ success }) => (success === true ? 1 : 0) }),
};

export const components = [taskSuccess];
