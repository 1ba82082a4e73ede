import { IsBoolean, IsInt, Max, Min } from 'class-validator';
import { Above, Below, Doc } from '@ui-rl/plugin-kit';

export class CollapseGuardGroup {
  @Doc('restore the best checkpoint after a collapse; end the run when batches have no learning signal')
  @IsBoolean()
  enabled = true;

  @Doc(
    'number of consecutive batches without a learning signal before the guard acts; four times as many if success has not fallen',
  )
  @IsInt()
  @Min(1)
  patience = 5;

  @Doc(
    'collapse threshold, a share of the best success on the same tasks, or of the best share of readable answers',
  )
  @Above(0)
  @Below(1)
  drop = 0.7;

  @Doc('maximum number of restores before the run ends with the best checkpoint')
  @IsInt()
  @Min(0)
  max_restores = 3;

  @Doc('factor on the learning rate at each restore')
  @Above(0)
  @Max(1)
  learning_rate_factor = 0.3;
}
