import { Doc } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn, IsNotEmpty, IsString } from 'class-validator';

export class IdsOptions {
  @Doc('ids of demo tasks, such as train_02_enable_wifi; `ui-rl tasks list` lists them')
  @IsArray()
  @ArrayNotEmpty()
  @ArrayUnique()
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  task_ids: string[];
}

export class StartOptions {
  @Doc('near: tasks start on the screen of their control; mixed: up to three screens away')
  @IsIn(['mixed', 'near'])
  start: 'mixed' | 'near' = 'mixed';
}
