import { IsNotEmpty, IsOptional, IsString } from 'class-validator';
import { Choice, Doc, LocalFile, type ComponentChoice } from '@ui-rl/plugin-kit';

/** Only for advantages that read the teacher's log-probabilities. */
export class TeacherGroup {
  @Doc(
    'model of the teacher, named as in model.name, with the same tokens and image processor as the policy; default: model.name',
  )
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  name?: string;

  @Doc('checkpoint of a run, or folder of an adapter, with the weights of the teacher')
  @IsOptional()
  @LocalFile({ kind: 'folder', checkpoints: true })
  load_checkpoint?: string;

  @Doc(
    'engine that scores with the teacher, such as tinker for a model of a service; default: the engine of the run',
  )
  @Choice('engine')
  @IsOptional()
  engine?: ComponentChoice;
}
