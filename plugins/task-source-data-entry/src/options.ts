import { Doc } from '@ui-rl/plugin-kit';
import { IsIn, IsInt, Max, Min } from 'class-validator';
import { MOST_ROWS } from './sheet';

export const PLACES = ['browser', 'desktop'] as const;

/** Size of the tasks, and their environment. */
export class DataEntryOptions {
  @Doc('rows of the spreadsheet')
  @IsInt()
  @Min(1)
  @Max(MOST_ROWS)
  rows = 100;

  @Doc(
    'rows that a task asks to type, one after the other: 1 gives a task for each row, as many as there are gives one for all; rows that are left over are in no task',
  )
  @IsInt()
  @Min(1)
  @Max(MOST_ROWS)
  rows_per_task = 1;

  @Doc(
    'where it is shown: in the browser, or on a desktop by real mouse and keyboard events, which needs more of the machine',
  )
  @IsIn(PLACES)
  on: (typeof PLACES)[number] = 'browser';

  @Doc('which spreadsheet: the same number gives the same rows where `rows` is the same, too')
  @IsInt()
  @Min(0)
  sheet = 0;

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
