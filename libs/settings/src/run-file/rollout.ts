import { IsBoolean, IsIn, IsInt, Max, Min } from 'class-validator';
import { Above, Doc, Group, MAX_WAIT_MS } from '@ui-rl/plugin-kit';
import { CurriculumGroup } from './curriculum';

/** Maximum on one machine. */
export const MAX_ACTORS = 256;

export class RolloutGroup {
  @Doc(
    'who plays the episodes: actors by themselves, or outside agents in sessions that they open at an actor (AGENTS_PORT)',
  )
  @IsIn(['actors', 'agents'])
  played_by: 'actors' | 'agents' = 'actors';

  @Doc('episodes of one task and start, compared with one another')
  @IsInt()
  @Min(1)
  group_size = 4;

  @Doc('sampling temperature of training episodes')
  @Above(0)
  temperature = 1;

  @Doc(
    'sampled from is the smallest set of likeliest tokens with this probability together (512 tokens at most), and trained as such; 1: all',
  )
  @Above(0)
  @Max(1)
  top_p = 1;

  @Doc('sampled from are so many of the likeliest tokens, and trained as such; 0: all')
  @IsInt()
  @Min(0)
  @Max(512)
  top_k = 0;

  @Doc(
    'whether only answers are sampled that the action format can read, and trained as drawn from those; the answer is the action alone',
  )
  @IsBoolean()
  constrain_actions = false;

  @Doc('tokens of one answer')
  @IsInt()
  @Min(1)
  max_tokens = 2048;

  @Doc('turns of an episode, unless the task allows fewer')
  @IsInt()
  @Min(1)
  max_turns = 20;

  @Doc('episodes an actor plays at once')
  @IsInt()
  @Min(1)
  concurrency = 8;

  @Doc('actor services that ui-rl up and quickstart start on this machine for the run')
  @IsInt()
  @Min(1)
  @Max(MAX_ACTORS)
  num_actors = 1;

  @Doc('longest time for an episode, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  episode_timeout_ms = 600_000;

  @Doc('longest time for a turn, policy and environment, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  turn_timeout_ms = 120_000;

  @Doc('which tasks are trained when')
  @Group(() => CurriculumGroup)
  curriculum: CurriculumGroup;

  @Doc('tries at an episode that fails by no fault of the policy')
  @IsInt()
  @Min(1)
  max_attempts = 3;
}
