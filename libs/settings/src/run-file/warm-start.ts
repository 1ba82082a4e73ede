import { IsBoolean, IsInt, IsNumber, IsOptional, Min } from 'class-validator';
import { Above, Choice, Doc, LocalFile, Needs, type ComponentChoice } from '@ui-rl/plugin-kit';

export class WarmStartGroup {
  @Doc(
    'file of episodes (JSON Lines) that is learnt from before reinforcement learning begins; `ui-rl runs episodes` writes those of a run',
  )
  @IsOptional()
  @LocalFile()
  episodes?: string;

  @Doc(
    'loss over stored episodes; one over pairs takes, of each task and start, the better episode beside the worse',
  )
  @Choice('policy-loss')
  @Needs('episodes')
  loss: ComponentChoice = { name: 'cross_entropy' };

  @Doc('episodes whose return exceeds it are imitated; pairs are formed of all')
  @IsNumber()
  @Needs('episodes')
  reward_threshold = 0;

  @Doc('episodes, or pairs, of a step')
  @IsInt()
  @Min(1)
  @Needs('episodes')
  batch_size = 32;

  @Doc('passes over all episodes, or pairs; the last step of each has what is left')
  @IsInt()
  @Min(1)
  @Needs('episodes')
  epochs = 1;

  @Doc('steps instead of whole epochs')
  @IsOptional()
  @IsInt()
  @Min(1)
  @Needs('episodes')
  steps?: number;

  @Doc('learning rate of the warm start, which is constant; the optimizer starts anew after it')
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
