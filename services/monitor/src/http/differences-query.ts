import { RUN_ID } from '@ui-rl/contracts';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsOptional, Matches } from 'class-validator';
import { RunQuery } from './run-query';

const MAX_RUNS = 200;

/** The list of runs, or these runs. */
export class DifferencesQuery extends RunQuery {
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (Array.isArray(value) ? value : [value]))
  @ArrayMaxSize(MAX_RUNS)
  @Matches(RUN_ID, { each: true })
  run?: string[];
}
