import { IsBoolean, IsInt, IsNumber, IsOptional, Min } from 'class-validator';
import { Above, Choice, Doc, Group, type ComponentChoice } from '@ui-rl/plugin-kit';
import { CollapseGuardGroup } from './collapse-guard';
import { WarmStartGroup } from './warm-start';

export class TrainingGroup {
  @Doc('learning rate after warm-up')
  @Above(0)
  learning_rate = 1e-5;

  @Doc('course of the learning rate over max_steps')
  @Choice('schedule')
  schedule: ComponentChoice = { name: 'constant' };

  @Doc('how gradients change the weights')
  @Choice('optimizer')
  optimizer: ComponentChoice = { name: 'adamw' };

  @Doc('gradients are scaled down to this norm; 0 = never')
  @IsNumber()
  @Min(0)
  max_grad_norm = 1;

  @Doc('groups of a batch, which one step trains')
  @IsInt()
  @Min(1)
  groups_per_batch = 10;

  @Doc('episodes of a batch, in place of groups_per_batch: that many groups of rollout.group_size episodes')
  @IsOptional()
  @IsInt()
  @Min(1)
  batch_size?: number;

  @Doc('optimizer steps per step: parts its batch is split into, by groups')
  @IsInt()
  @Min(1)
  num_substeps = 1;

  @Doc('passes of each optimizer step, at least; their gradients are accumulated')
  @IsInt()
  @Min(1)
  num_minibatches = 1;

  @Doc('the training ends after so many steps, those of the warm start aside; 0 = no limit')
  @IsInt()
  @Min(0)
  max_steps = 0;

  @Doc(
    'the training ends after so many passes over the tasks of the run, as they are when it starts, in place of max_steps; default: 1 where ' +
      'none of max_steps, max_minutes and total_minutes is given',
  )
  @IsOptional()
  @IsInt()
  @Min(1)
  epochs?: number;

  @Doc('the training ends after so many minutes, evaluations before and after it aside; 0 = no limit')
  @IsNumber()
  @Min(0)
  max_minutes = 0;

  @Doc(
    'baseline, training and final evaluation take about so many minutes: the training ends early enough for a final evaluation as long as ' +
      'the baseline took; 0 = no limit',
  )
  @IsNumber()
  @Min(0)
  total_minutes = 0;

  @Doc('keep a checkpoint every so many steps; 0 = only the last')
  @IsInt()
  @Min(0)
  save_every = 10;

  @Doc(
    'evaluate every so many steps before the last, but not in a warm start that reinforcement learning follows; 0 = never',
  )
  @IsInt()
  @Min(0)
  eval_every = 10;

  @Doc('seeds task order, environments, sampling and fresh adapters')
  @IsInt()
  @Min(0)
  seed = 0;

  @Doc('the same seed gives the same rewards, step by step')
  @IsBoolean()
  deterministic = false;

  @Doc('supervised training before reinforcement learning begins')
  @Group(() => WarmStartGroup)
  warm_start: WarmStartGroup;

  @Doc('what happens when the policy collapses, or has nothing left to learn')
  @Group(() => CollapseGuardGroup)
  collapse_guard: CollapseGuardGroup;
}
