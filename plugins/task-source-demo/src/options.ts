import { Doc, TASK_CATEGORIES, TASK_DIFFICULTIES } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, IsArray, IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Min } from 'class-validator';

/** What all sources of demo tasks have in common. */
export class DemoOptions {
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

export class IdsOptions extends DemoOptions {
  @Doc('ids of demo tasks, such as train_02_enable_wifi; `ui-rl tasks list` lists them')
  @IsArray()
  @ArrayNotEmpty()
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  task_ids: string[];
}

export class CustomOptions extends DemoOptions {
  @Doc('goals in words, such as "Turn on Bluetooth"')
  @IsArray()
  @ArrayNotEmpty()
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  custom_tasks: string[];
}
