import { IsBoolean, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Above, Doc, Group, MAX_WAIT_MS } from '@ui-rl/plugin-kit';
import { CurriculumGroup } from './curriculum';

/** Maximum on one machine. */
export const MAX_ACTORS = 256;

export class RolloutGroup {
  @Doc('player of episodes: actors, or outside agents in sessions that they open at an actor (AGENTS_PORT)')
  @IsIn(['actors', 'agents'])
  played_by: 'actors' | 'agents' = 'actors';

  @Doc('number of episodes per group, of one task and environment seed')
  @IsInt()
  @Min(1)
  group_size = 4;

  @Doc('sampling temperature of training episodes')
  @Above(0)
  temperature = 1;

  @Doc('nucleus sampling threshold (at most 512 tokens); training uses the same distribution; 1 = all tokens')
  @Above(0)
  @Max(1)
  top_p = 1;

  @Doc('top-k; training uses the same distribution; 0 = all tokens')
  @IsInt()
  @Min(0)
  @Max(512)
  top_k = 0;

  @Doc(
    'sample only answers that the action format can read, and train on the same distribution; the answer is the action alone',
  )
  @IsBoolean()
  constrain_actions = false;

  @Doc('maximum number of tokens per answer')
  @IsInt()
  @Min(1)
  max_tokens = 2048;

  @Doc('maximum number of turns per episode, unless the task allows fewer')
  @IsInt()
  @Min(1)
  max_turns = 20;

  @Doc(
    'number of turns in a prompt with a screenshot, including the current one; older turns are text; default: all',
  )
  @IsOptional()
  @IsInt()
  @Min(1)
  history_screenshots?: number;

  @Doc('number of concurrent episodes per actor')
  @IsInt()
  @Min(1)
  concurrency = 8;

  @Doc('number of actor services that ui-rl up and quickstart start on this machine')
  @IsInt()
  @Min(1)
  @Max(MAX_ACTORS)
  num_actors = 1;

  @Doc('time limit for an episode, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  episode_timeout_ms = 600_000;

  @Doc('time limit for a turn, policy and environment together, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  turn_timeout_ms = 120_000;

  @Doc('order of tasks in training')
  @Group(() => CurriculumGroup)
  curriculum: CurriculumGroup;

  @Doc('maximum number of attempts at an episode after infrastructure failures')
  @IsInt()
  @Min(1)
  max_attempts = 3;
}
