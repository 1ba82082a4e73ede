import { IsArray, IsBoolean, IsIn, IsInt, IsNumber, Min } from 'class-validator';
import { Doc } from '@ui-rl/plugin-kit';

const SETS = ['train_goals', 'eval_goals'] as const;

export class EvaluationGroup {
  @Doc('number of episodes per task and evaluation, each with its own environment seed')
  @IsInt()
  @Min(1)
  episodes_per_task = 4;

  @Doc('maximum number of evaluated tasks per set, sampled with the seed of the run; 0 = all')
  @IsInt()
  @Min(0)
  max_tasks = 1000;

  @Doc('sampling temperature of evaluation episodes; 0 = greedy')
  @IsNumber()
  @Min(0)
  temperature = 0;

  @Doc('evaluate the model before training')
  @IsBoolean()
  baseline = true;

  @Doc('evaluate once between training.warm_start and reinforcement learning')
  @IsBoolean()
  warm_start = true;

  @Doc('train_goals: training tasks with unseen environment seeds; eval_goals: eval_tasks')
  @IsArray()
  @IsIn(SETS, { each: true })
  sets: (typeof SETS)[number][] = [...SETS];
}
