import { IsNotEmpty, IsNumber, IsOptional, IsString, Min } from 'class-validator';
import { Above, Doc, type RewardComponent } from '@ui-rl/plugin-kit';
import { progressReward } from './progress';

export class ProgressOptions {
  @Doc('what each further correct submission pays')
  @IsNumber()
  @Above(0)
  correct = 1;

  @Doc('taken for each further incorrect submission')
  @IsNumber()
  @Min(0)
  incorrect = 0.5;

  @Doc('taken for each turn')
  @IsNumber()
  @Min(0)
  step_cost = 0.01;

  @Doc('where the counts lie in the state of the environment, a dotted path; default: the state itself')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  path?: string;
}

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
