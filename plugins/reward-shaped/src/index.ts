import { PluginError, type Reward, type RewardComponent } from '@ui-rl/plugin-kit';
import { ShapedOptions, weightsProblem } from './options';
import { shapedReward } from './shaped';

const shaped: RewardComponent<ShapedOptions> = {
  kind: 'reward',
  name: 'shaped',
  description:
    'Success, progress towards the checks of the task, and small costs of turns, repeated actions, answers without a readable action, and of ending too early.',
  options: ShapedOptions,
  conflicts: (options) => {
    const problem = weightsProblem(options);
    return problem === null ? [] : [problem];
  },
  create(options): Reward {
    const problem = weightsProblem(options);
    if (problem !== null) throw new PluginError('option', problem);
    return { score: (episode) => shapedReward(episode, options) };
  },
};

export const components = [shaped];
