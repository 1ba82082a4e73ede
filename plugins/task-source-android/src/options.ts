import { Doc, TASK_CATEGORIES, TASK_DIFFICULTIES } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, IsArray, IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';

/** What all sources of tasks for Android have in common. */
export class AndroidTaskOptions {
  @Doc('environment that plays them: a device behind an adb server, or a box of GBox')
  @IsIn(['android', 'gbox'])
  environment: 'android' | 'gbox' = 'android';

  @Doc('only tasks of this category')
  @IsOptional()
  @IsIn(TASK_CATEGORIES)
  category?: (typeof TASK_CATEGORIES)[number];

  @Doc('only tasks of this difficulty')
  @IsOptional()
  @IsIn(TASK_DIFFICULTIES)
  difficulty?: (typeof TASK_DIFFICULTIES)[number];

  @Doc('so many tasks at most')
  @IsOptional()
  @IsInt()
  @Min(1)
  limit?: number;

  @Doc('shuffles the tasks; the same seed gives the same order')
  @IsOptional()
  @IsInt()
  @Min(0)
  seed?: number;
}

export class AndroidIdsOptions extends AndroidTaskOptions {
  @Doc(
    'ids of tasks for Android, such as train_02_enable_wifi; `ui-rl tasks list --source android_training` lists them',
  )
  @IsArray()
  @ArrayNotEmpty()
  @IsString({ each: true })
  task_ids: string[];
}
