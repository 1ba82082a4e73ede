import { IsIn, IsInt, IsNumber, Max, Min } from 'class-validator';
import { Doc, Needs } from '@ui-rl/plugin-kit';

/** Options for the choice of tasks during training. */
export class CurriculumGroup {
  @Doc(
    'none: every task once per round; success: tasks whose measured success is within a band, which alone can be learnt from; ' +
      'difficulty: easy tasks first, the next difficulty when they succeed',
  )
  @IsIn(['none', 'success', 'difficulty'])
  by: 'none' | 'success' | 'difficulty' = 'none';

  @Doc('tasks that succeed less often than this share of their episodes are left out')
  @IsNumber()
  @Min(0)
  @Max(1)
  @Needs('by', 'success')
  lowest = 0.1;

  @Doc('and tasks that succeed more often')
  @IsNumber()
  @Min(0)
  @Max(1)
  @Needs('by', 'success')
  highest = 0.9;

  @Doc('episodes of a task after which its success counts as measured')
  @IsInt()
  @Min(1)
  @Needs('by', 'success')
  least_episodes = 8;

  @Doc('success of the difficulty that is trained now at which the next one begins')
  @IsNumber()
  @Min(0)
  @Max(1)
  @Needs('by', 'difficulty')
  threshold = 0.7;

  @Doc('groups of a difficulty before the next one may begin')
  @IsInt()
  @Min(1)
  @Needs('by', 'difficulty')
  least_groups = 10;

  @Doc('groups that a measured success goes back, about: older ones count less and less')
  @IsNumber()
  @Min(1)
  memory = 4;

  @Doc('share of the groups that try tasks outside of the band, or of other difficulties, again')
  @IsNumber()
  @Min(0)
  @Max(1)
  explore = 0.1;
}
