import type { RunFilter } from '@ui-rl/records';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

/** Query parameters of the list of runs; others are rejected. */
export class RunQuery implements RunFilter {
  /** Part of the id. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  search?: string;

  /** `<createdAt>~<id>` of the last run of the previous page. */
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
}
