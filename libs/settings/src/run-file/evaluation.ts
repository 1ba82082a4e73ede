import { IsArray, IsBoolean, IsIn, IsInt, IsNumber, Min } from 'class-validator';
import { Doc } from '@ui-rl/plugin-kit';

const SETS = ['train_goals', 'eval_goals'] as const;

export class EvaluationGroup {
  @Doc('episodes per task and evaluation, each with its own start')
  @IsInt()
  @Min(1)
  episodes_per_task = 4;

  @Doc(
    'tasks of a set that are evaluated at most: of more, a sample that the seed of the run decides; 0 = all',
  )
  @IsInt()
  @Min(0)
  max_tasks = 1000;

  @Doc('sampling temperature of evaluation episodes; 0 = greedy')
  @IsNumber()
  @Min(0)
  temperature = 0;

  @Doc('evaluate the model as loaded before it is trained')
  @IsBoolean()
  baseline = true;

  @Doc('evaluate once where training.warm_start has ended and reinforcement learning begins')
  @IsBoolean()
  warm_start = true;

  @Doc('train_goals: training tasks with unseen starts; eval_goals: eval_tasks')
  @IsArray()
  @IsIn(SETS, { each: true })
  sets: (typeof SETS)[number][] = [...SETS];
}
