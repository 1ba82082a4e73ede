import { Doc } from '@ui-rl/plugin-kit';
import { IsIn, IsInt, Max, Min } from 'class-validator';
import { MOST_ROWS } from './sheet';

export const PLACES = ['browser', 'desktop'] as const;

/** The spreadsheet, and the environment that shows it. */
export class SheetOptions {
  @Doc('rows of the spreadsheet')
  @IsInt()
  @Min(1)
  @Max(MOST_ROWS)
  rows = 100;

  @Doc(
    'environment: the browser, or a desktop with real mouse and keyboard events, which needs more resources',
  )
  @IsIn(PLACES)
  on: (typeof PLACES)[number] = 'browser';

  @Doc('seed of the spreadsheet: the same number and `rows` give the same content')
  @IsInt()
  @Min(0)
  sheet = 0;

  @Doc('width of the screen in pixels')
  @IsInt()
  @Min(640)
  @Max(4_096)
  width = 1_280;

  @Doc('height of the screen in pixels')
  @IsInt()
  @Min(480)
  @Max(4_096)
  height = 800;
}

export class DataEntryOptions extends SheetOptions {
  @Doc('rows per task; left-over rows are in no task')
  @IsInt()
  @Min(1)
  @Max(MOST_ROWS)
  rows_per_task = 1;
}

export class QuestionOptions extends SheetOptions {
  @Doc('number of questions')
  @IsInt()
  @Min(1)
  @Max(MOST_ROWS)
  questions = 30;
}
