import { IsBoolean, IsInt, IsNumber, IsOptional, Min } from 'class-validator';
import { Above, Choice, Doc, Group, type ComponentChoice } from '@ui-rl/plugin-kit';
import { CollapseGuardGroup } from './collapse-guard';
import { WarmStartGroup } from './warm-start';

export class TrainingGroup {
  @Doc('learning rate after warm-up')
  @Above(0)
  learning_rate = 1e-5;

  @Doc('learning-rate schedule over max_steps')
  @Choice('schedule')
  schedule: ComponentChoice = { name: 'constant' };

  @Doc('optimizer')
  @Choice('optimizer')
  optimizer: ComponentChoice = { name: 'adamw' };

  @Doc('maximum gradient norm; 0 = no clipping')
  @IsNumber()
  @Min(0)
  max_grad_norm = 1;

  @Doc('number of groups per batch; a step trains one batch')
  @IsInt()
  @Min(1)
  groups_per_batch = 10;

  @Doc('episodes of a batch, in place of groups_per_batch: that many groups of rollout.group_size episodes')
  @IsOptional()
  @IsInt()
  @Min(1)
  batch_size?: number;

  @Doc('number of optimizer steps per step, each on a part of its groups')
  @IsInt()
  @Min(1)
  num_substeps = 1;

  @Doc('number of passes over the batch of a step; above 1, choose a loss that clips the ratio, such as ppo')
  @IsInt()
  @Min(1)
  passes_per_batch = 1;

  @Doc('minimum number of passes per optimizer step; gradients are accumulated')
  @IsInt()
  @Min(1)
  num_minibatches = 1;

  @Doc('maximum number of steps, without those of the warm start; 0 = no limit')
  @IsInt()
  @Min(0)
  max_steps = 0;

  @Doc(
    'maximum number of passes over the tasks of the run, as of its start, instead of max_steps; default: 1 if none of max_steps, max_minutes and total_minutes is given',
  )
  @IsOptional()
  @IsInt()
  @Min(1)
  epochs?: number;

  @Doc('time limit for training in minutes, without evaluations before and after it; 0 = no limit')
  @IsNumber()
  @Min(0)
  max_minutes = 0;

  @Doc(
    'approximate time limit for baseline, training and final evaluation in minutes; assumes that the final evaluation takes as long as the baseline; 0 = no limit',
  )
  @IsNumber()
  @Min(0)
  total_minutes = 0;

  @Doc('number of steps between kept checkpoints; 0 = only the last one')
  @IsInt()
  @Min(0)
  save_every = 10;

  @Doc('number of steps between evaluations, except in a warm start before reinforcement learning; 0 = never')
  @IsInt()
  @Min(0)
  eval_every = 10;

  @Doc('seed of task order, environments, sampling and new adapters')
  @IsInt()
  @Min(0)
  seed = 0;

  @Doc('make the rewards of each step repeatable with the same seed')
  @IsBoolean()
  deterministic = false;

  @Doc('supervised training before reinforcement learning begins')
  @Group(() => WarmStartGroup)
  warm_start: WarmStartGroup;

  @Doc('protection against collapse, and the end of a run without a learning signal')
  @Group(() => CollapseGuardGroup)
  collapse_guard: CollapseGuardGroup;
}
