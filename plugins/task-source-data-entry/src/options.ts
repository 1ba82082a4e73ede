import { Doc } from '@ui-rl/plugin-kit';
import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';

export const PLACES = ['browser', 'desktop'] as const;

/** How much is typed, and where. */
export class DataEntryOptions {
  @Doc('rows of the spreadsheet')
  @IsInt()
  @Min(1)
  @Max(1_000)
  rows = 100;

  @Doc(
    'rows that a task asks to type, one after the other: 1 gives a task for each row, as many as there are gives one for all',
  )
  @IsInt()
  @Min(1)
  @Max(1_000)
  rows_per_task = 1;

  @Doc(
    'where it is shown: in the browser, or on a desktop by real mouse and keyboard events, which needs more of the machine',
  )
  @IsIn(PLACES)
  on: (typeof PLACES)[number] = 'browser';

  @Doc('what stands in the spreadsheet: the same number gives the same rows')
  @IsInt()
  @Min(0)
  seed = 0;

  @Doc('so many tasks at most')
  @IsOptional()
  @IsInt()
  @Min(1)
  limit?: number;

  @Doc('pixels of the screen across')
  @IsInt()
  @Min(640)
  @Max(4_096)
  width = 1_280;

  @Doc('pixels of the screen down')
  @IsInt()
  @Min(480)
  @Max(4_096)
  height = 800;
}
