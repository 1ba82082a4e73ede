import { RUN_SORTS, type RunFilter, type RunSort, SORT_ORDERS, type SortOrder } from '@ui-rl/records';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

/** Query parameters of the list of runs; others are rejected. */
export class RunQuery implements RunFilter {
  /** Part of the id, the name, the notes or a tag. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  search?: string;

  /** Whether archived runs are listed, too. Default `no`. */
  @IsOptional()
  @IsIn(['yes', 'no'])
  archived?: 'yes' | 'no';

  /** Default `created`. `success`: of the latest evaluation of unseen goals. */
  @IsOptional()
  @IsIn(RUN_SORTS)
  sort?: RunSort;

  /** Default `desc`: the newest or largest first. */
  @IsOptional()
  @IsIn(SORT_ORDERS)
  order?: SortOrder;

  /** Id of the last run of the previous page. */
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
