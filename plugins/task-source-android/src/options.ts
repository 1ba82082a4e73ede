import { Doc } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, IsArray, IsIn, IsString } from 'class-validator';

/** Options of all task sources for Android. */
export class AndroidTaskOptions {
  @Doc('environment that plays them: a device behind an adb server, or a box of GBox')
  @IsIn(['android', 'gbox'])
  environment: 'android' | 'gbox' = 'android';
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
