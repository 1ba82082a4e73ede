import { Doc } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsNotEmpty, IsString } from 'class-validator';

export class IdsOptions {
  @Doc('ids of demo tasks, such as train_02_enable_wifi; `ui-rl tasks list` lists them')
  @IsArray()
  @ArrayNotEmpty()
  @ArrayUnique()
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  task_ids: string[];
}
