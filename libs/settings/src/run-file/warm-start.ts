import { IsBoolean, IsInt, IsNumber, IsOptional, Min } from 'class-validator';
import { Above, Choice, Doc, LocalFile, Needs, type ComponentChoice } from '@ui-rl/plugin-kit';

export class WarmStartGroup {
  @Doc(
    'file of episodes (JSON Lines) to imitate before reinforcement learning; `ui-rl episodes export` writes those of a run, `ui-rl episodes import` those of other tools',
  )
  @IsOptional()
  @LocalFile()
  episodes?: string;

  @Doc(
    'loss over stored episodes; a loss over pairs compares the better with the worse episode of each task and environment seed',
  )
  @Choice('policy-loss')
  @Needs('episodes')
  loss: ComponentChoice = { name: 'cross_entropy' };

  @Doc('return threshold; episodes above it are imitated; pairs use all episodes')
  @IsNumber()
  @Needs('episodes')
  reward_threshold = 0;

  @Doc('number of episodes, or pairs, per step')
  @IsInt()
  @Min(1)
  @Needs('episodes')
  batch_size = 32;

  @Doc('number of passes over all episodes, or pairs; the last step of a pass may be smaller')
  @IsInt()
  @Min(1)
  @Needs('episodes')
  epochs = 1;

  @Doc('number of steps, instead of epochs')
  @IsOptional()
  @IsInt()
  @Min(1)
  @Needs('episodes')
  steps?: number;

  @Doc('constant learning rate of the warm start; the optimizer starts fresh after it')
  @Above(0)
  @Needs('episodes')
  learning_rate = 1e-5;

  @Doc(
    'the run ends with the warm start: no episodes are played for training, and what is said of that (algorithm.advantage, rollout, async, training.max_steps …) waits for a run without it',
  )
  @IsBoolean()
  @Needs('episodes')
  only = false;
}
