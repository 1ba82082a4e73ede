import { IsBoolean, IsInt, Max, Min } from 'class-validator';
import { Above, Below, Doc } from '@ui-rl/plugin-kit';

export class CollapseGuardGroup {
  @Doc(
    'go back to the best checkpoint where the policy collapses; end the run where no batch teaches anything any more',
  )
  @IsBoolean()
  enabled = true;

  @Doc(
    'batches in a row without a learning signal before the guard acts; it waits four times as long where success has not fallen',
  )
  @IsInt()
  @Min(1)
  patience = 5;

  @Doc(
    'a policy has collapsed below this share of its best success on the same tasks, or of its best share of answers that can be read',
  )
  @Above(0)
  @Below(1)
  drop = 0.7;

  @Doc('times that the run goes back before it ends with the best checkpoint')
  @IsInt()
  @Min(0)
  max_restores = 3;

  @Doc('the learning rate is multiplied by this each time that the run goes back')
  @Above(0)
  @Max(1)
  learning_rate_factor = 0.3;
}
