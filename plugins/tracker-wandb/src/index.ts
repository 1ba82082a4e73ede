import { join } from 'node:path';
import { Doc, type TrackerComponent } from '@ui-rl/plugin-kit';
import { IsNotEmpty, IsOptional, IsString, Length, Matches } from 'class-validator';
import { OfflineRun } from './offline-run';

class WandbOptions {
  @Doc('project at Weights & Biases')
  @IsString()
  @Length(1, 128)
  @Matches(/^[^/\\#?%:]+$/, { message: '$property must be a name without / \\ # ? % :' })
  wandb_project = 'ui-rl';

  @Doc('name of the run there; default: the run id')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  wandb_name?: string;
}

const wandb: TrackerComponent<WandbOptions> = {
  kind: 'tracker',
  name: 'wandb',
  description:
    'Writes the run as an offline run of Weights & Biases into the folder "wandb" of the run; "wandb sync" uploads it.',
  options: WandbOptions,
  create: ({ wandb_project: project, wandb_name: name }, { runId, runDir, config }) =>
    new OfflineRun(join(runDir, 'wandb'), { runId, project, name: name ?? runId, config }),
};

export default wandb;
