import { IsIn, IsInt, IsNumber, Max, Min } from 'class-validator';
import { Doc, Needs } from '@ui-rl/plugin-kit';

/** Options for the choice of tasks during training. */
export class CurriculumGroup {
  @Doc(
    'none: every task once per round; success: tasks whose measured success is within a band; difficulty: easy tasks first, the next difficulty when they succeed',
  )
  @IsIn(['none', 'success', 'difficulty'])
  by: 'none' | 'success' | 'difficulty' = 'none';

  @Doc('minimum success rate of the band')
  @IsNumber()
  @Min(0)
  @Max(1)
  @Needs('by', 'success')
  lowest = 0.1;

  @Doc('maximum success rate of the band')
  @IsNumber()
  @Min(0)
  @Max(1)
  @Needs('by', 'success')
  highest = 0.9;

  @Doc('minimum number of episodes before the success of a task counts as measured')
  @IsInt()
  @Min(1)
  @Needs('by', 'success')
  least_episodes = 8;

  @Doc('success rate at which the next difficulty begins')
  @IsNumber()
  @Min(0)
  @Max(1)
  @Needs('by', 'difficulty')
  threshold = 0.7;

  @Doc('minimum number of groups per difficulty')
  @IsInt()
  @Min(1)
  @Needs('by', 'difficulty')
  least_groups = 10;

  @Doc('approximate number of groups in the moving average of success')
  @IsNumber()
  @Min(1)
  memory = 4;

  @Doc('share of groups that explore tasks outside of the band, or of other difficulties')
  @IsNumber()
  @Min(0)
  @Max(1)
  explore = 0.1;
}
