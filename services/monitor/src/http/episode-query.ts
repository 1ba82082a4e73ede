import { PURPOSES, type Purpose, TRAJECTORY_STATUSES, type TrajectoryStatus } from '@ui-rl/contracts';
import type { EpisodeFilter } from '@ui-rl/records';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

/** Query parameters of an episode list; others are rejected. */
export class EpisodeQuery {
  @IsOptional()
  @IsIn(PURPOSES)
  purpose?: Purpose;

  @IsOptional()
  @IsIn(TRAJECTORY_STATUSES)
  status?: TrajectoryStatus;

  @IsOptional()
  @IsIn(['yes', 'no', 'unknown'])
  success?: 'yes' | 'no' | 'unknown';

  /** Part of the task's id or description. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  task?: string;

  /** The whole id of the task. */
  @IsOptional()
  @IsString()
  @MaxLength(1_000)
  taskId?: string;

  /** Id of their evaluation. */
  @IsOptional()
  @IsString()
  @MaxLength(1_000)
  evaluation?: string;

  /** `cursor` of the previous page. */
  @IsOptional()
  @IsString()
  @MaxLength(400)
  before?: string;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(200)
  limit?: number;

  filter(): Omit<EpisodeFilter, 'runId'> {
    const { purpose, status, success, task, taskId, evaluation, before, limit } = this;
    return { purpose, status, success, task, taskId, evaluation, before, limit };
  }
}
