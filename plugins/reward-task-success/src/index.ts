import type { RewardComponent } from '@ui-rl/plugin-kit';

/** 1 if the verifier reports success, else 0, also for tasks without a verifier. */
const taskSuccess: RewardComponent = {
  kind: 'reward',
  name: 'task-success',
  description: '1 if the verifier says that the task is done, else 0.',
  create: () => ({ score: ({ success }) => (success === true ? 1 : 0) }),
};

export const components = [taskSuccess];
