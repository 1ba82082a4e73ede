import { basename } from 'node:path';
import { IsArray, IsBoolean, IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Min } from 'class-validator';
import { Choice, Doc, Fits, Group, type ComponentChoice, type TaskSourceChoice } from '@ui-rl/plugin-kit';
import { AlgorithmGroup } from './algorithm';
import { CriticGroup } from './critic';
import { EnvironmentGroup } from './environment';
import { EvaluationGroup } from './evaluation';
import { ModelGroup } from './model';
import { RolloutGroup } from './rollout';
import { TrainingGroup } from './training';

const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export class AsyncGroup {
  @Doc(
    'steps that the policy of a trained token may be behind the one that is trained; 0 = strictly on-policy. Above, ' +
      'episodes are played while others are trained, and tokens that come too late are not trained',
  )
  @IsInt()
  @Min(0)
  max_steps_off_policy = 0;

  @Doc(
    'answers in progress continue with new weights between two tokens, instead of ending with those they began with',
  )
  @IsBoolean()
  in_flight_updates = false;

  @Doc(
    'with max_steps_off_policy above 0, another episode is requested where one takes so many times as long as the median, ' +
      'and the first to come counts; 0 = never; default: 4',
  )
  @IsOptional()
  @Fits(
    '0, or a number of at least 1',
    (value) => value === 0 || (typeof value === 'number' && value >= 1 && Number.isFinite(value)),
  )
  straggler_factor?: number;
}

export class LoggingGroup {
  @Doc('first part of the run id')
  @IsString()
  @IsNotEmpty()
  run_name = 'run';

  @Doc('folder of the run, in the folder of all runs on the machine of the learner; default: the run id')
  @IsOptional()
  @Fits(
    'the name of a folder (letters, digits, ".", "_" and "-"), no path: UIRL_RUNS_DIR says where the learner keeps its runs',
    (value) => typeof value === 'string' && FOLDER_NAME.test(value),
  )
  log_dir?: string;

  @Doc(
    'log_dir as a path, in place of log_dir, for services that end with the run; those of a broker keep all runs in their UIRL_RUNS_DIR',
  )
  @IsOptional()
  @Fits(
    'the path of a folder, whose own name has letters, digits, ".", "_" and "-"',
    (value) => typeof value === 'string' && FOLDER_NAME.test(basename(value)),
  )
  log_path?: string;

  @Doc(
    'where another run left checkpoints in log_dir: overwrite them and all else there, skip this run, resume from the newest one, ' +
      'with what that run left moved into earlier.<run> there, or ask (on the command line)',
  )
  @IsIn(['ask', 'overwrite', 'skip', 'resume'])
  behavior_if_log_dir_exists: 'ask' | 'overwrite' | 'skip' | 'resume' = 'ask';

  @Doc('checkpoints that other machines can have: of every step, those that are kept, or none')
  @IsIn(['all', 'kept', 'none'])
  upload_checkpoints: 'all' | 'kept' | 'none' = 'all';

  @Doc(
    'groups of each step that are written as pages for people, with screenshots, into the folder of the run; those of the newest 100 steps stay',
  )
  @IsInt()
  @Min(0)
  num_groups_to_log = 1;

  @Doc('what records the run besides the monitor; an option of one that is not named adds it')
  @Choice('tracker', { many: true })
  trackers: ComponentChoice[] = [{ name: 'jsonl' }];
}

/**
 * A run file. The class is the type, its validators define valid values, its initializers are the defaults, its
 * decorators contain the help. Keys are those of the YAML form; a choice has all options of the chosen component.
 */
export class RunFile {
  @Doc('what trains and samples the model')
  @Choice('engine')
  engine: ComponentChoice = { name: 'local' };

  @Doc('where the policy is sampled from')
  @Choice('sampler')
  sampler: ComponentChoice = { name: 'engine' };

  @Doc('the model, its adapter, and how it is spoken to')
  @Group(() => ModelGroup)
  model: ModelGroup;

  @Doc('what is operated')
  @Group(() => EnvironmentGroup)
  environment: EnvironmentGroup;

  @Doc('what is trained on')
  @Choice('task-source', { many: true })
  tasks: TaskSourceChoice[];

  @Doc('for evaluation only')
  @Choice('task-source', { many: true })
  eval_tasks: TaskSourceChoice[] = [];

  @Doc('says whether a task was done')
  @Choice('verifier')
  verifier: ComponentChoice = { name: 'checks' };

  @Doc(
    'what episodes are worth; their parts are summed; default: that of the environment where it has one (ui-verifiers: progress)',
  )
  @Choice('reward', { many: true })
  rewards: ComponentChoice[] = [{ name: 'task-success' }];

  @Doc('how episodes are played')
  @Group(() => RolloutGroup)
  rollout: RolloutGroup;

  @Doc('how episodes become a loss')
  @Group(() => AlgorithmGroup)
  algorithm: AlgorithmGroup;

  @Doc('how the loss becomes steps, and how many')
  @Group(() => TrainingGroup)
  training: TrainingGroup;

  @Doc('what states are worth, for algorithms that compare what was earned with it (PPO)')
  @Group(() => CriticGroup)
  critic: CriticGroup;

  @Doc('how the policy is scored')
  @Group(() => EvaluationGroup)
  evaluation: EvaluationGroup;

  @Doc('how far sampling may run ahead of training')
  @Group(() => AsyncGroup)
  async: AsyncGroup;

  @Doc('where the run is recorded')
  @Group(() => LoggingGroup)
  logging: LoggingGroup;

  @Doc(
    'modules with further components: paths (./…) or npm packages; services have theirs from up --plugins, or UIRL_PLUGINS',
  )
  @IsArray()
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  plugins: string[] = [];
}
