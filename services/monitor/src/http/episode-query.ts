import { PURPOSES, type Purpose, TRAJECTORY_STATUSES, type TrajectoryStatus } from '@ui-rl/contracts';
import {
  EPISODE_SORTS,
  type EpisodeFilter,
  type EpisodeSort,
  SORT_ORDERS,
  type SortOrder,
} from '@ui-rl/records';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsNumber, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

/** The largest integer of a column. */
const MAX_INTEGER = 2 ** 31 - 1;

/** Query parameters of an episode list; others are rejected. */
export class EpisodeQuery implements Omit<EpisodeFilter, 'runId'> {
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

  /** The text of a check that failed, as `/api/runs/:run/failed-checks` lists it. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  failedCheck?: string;

  /** Least policy version of the last turn. */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(MAX_INTEGER)
  minVersion?: number;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(MAX_INTEGER)
  maxVersion?: number;

  /** The training step that they were trained in. */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(MAX_INTEGER)
  step?: number;

  @IsOptional()
  @Type(() => Number)
  @IsNumber()
  minReward?: number;

  @IsOptional()
  @Type(() => Number)
  @IsNumber()
  maxReward?: number;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(MAX_INTEGER)
  minTurns?: number;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(MAX_INTEGER)
  maxTurns?: number;

  /** Whether an answer could not be parsed. */
  @IsOptional()
  @IsIn(['yes', 'no'])
  parseFailure?: 'yes' | 'no';

  /** Default `ended`. */
  @IsOptional()
  @IsIn(EPISODE_SORTS)
  sort?: EpisodeSort;

  /** Default `desc`: the latest or largest first. */
  @IsOptional()
  @IsIn(SORT_ORDERS)
  order?: SortOrder;

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

  /** `ETag` of an earlier answer: only what changed since then is sent. */
  @IsOptional()
  @IsString()
  @MaxLength(100)
  since?: string;
}
