import type { RewardComponent } from '@ui-rl/plugin-kit';
import { ProgressOptions } from './options';
import { progressReward } from './progress';

const progress: RewardComponent<ProgressOptions> = {
  kind: 'reward',
  name: 'progress',
  description:
    'Correct submissions gained, less incorrect ones and a small cost of turns, by the counts of ui-verifiers in the state of the environment.',
  options: ProgressOptions,
  judgesWithoutVerifier: true,
  create: (options) => ({ score: (episode) => progressReward(episode, options) }),
};

export const components = [progress];
