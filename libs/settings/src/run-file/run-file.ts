import { basename } from 'node:path';
import { IsArray, IsBoolean, IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Min } from 'class-validator';
import { Choice, Doc, Fits, Group, type ComponentChoice, type TaskSourceChoice } from '@ui-rl/plugin-kit';
import { AlgorithmGroup } from './algorithm';
import { CriticGroup } from './critic';
import { EnvironmentGroup } from './environment';
import { EvaluationGroup } from './evaluation';
import { ModelGroup } from './model';
import { RolloutGroup } from './rollout';
import { TeacherGroup } from './teacher';
import { TrainingGroup } from './training';

const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export class AsyncGroup {
  @Doc(
    'maximum policy lag of a trained token, in steps; 0 = strictly on-policy. Above 0, sampling and training overlap, and tokens beyond the limit are not trained',
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
    'multiple of the median episode time after which another episode is requested, if max_steps_off_policy is above 0; the first to arrive counts; 0 = never; default: 4',
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
    'folder of the run as a path, instead of log_dir, for services that end with the run; services of a broker keep all runs in their UIRL_RUNS_DIR',
  )
  @IsOptional()
  @Fits(
    'the path of a folder, whose own name has letters, digits, ".", "_" and "-"',
    (value) => typeof value === 'string' && FOLDER_NAME.test(basename(value)),
  )
  log_path?: string;

  @Doc(
    'if another run left checkpoints in log_dir: overwrite the folder; skip this run; resume from the newest one, after moving its files into earlier.<run>; or ask (on the command line)',
  )
  @IsIn(['ask', 'overwrite', 'skip', 'resume'])
  behavior_if_log_dir_exists: 'ask' | 'overwrite' | 'skip' | 'resume' = 'ask';

  @Doc('checkpoints to upload for other machines: all, the kept ones, or none')
  @IsIn(['all', 'kept', 'none'])
  upload_checkpoints: 'all' | 'kept' | 'none' = 'all';

  @Doc(
    'number of groups per step to write as HTML pages with screenshots into the folder of the run; those of the newest 100 steps stay',
  )
  @IsInt()
  @Min(0)
  num_groups_to_log = 1;

  @Doc('trackers that record the run in addition to the monitor; an option of another tracker adds it')
  @Choice('tracker', { many: true })
  trackers: ComponentChoice[] = [{ name: 'jsonl' }];
}

/**
 * A run file. The class is the type, its validators define valid values, its initializers are the defaults, its
 * decorators contain the help. Keys are those of the YAML form; a choice has all options of the chosen component.
 */
export class RunFile {
  @Doc('component that trains and samples the model')
  @Choice('engine')
  engine: ComponentChoice = { name: 'local' };

  @Doc('component that samples the policy')
  @Choice('sampler')
  sampler: ComponentChoice = { name: 'engine' };

  @Doc('model, adapter and prompt format')
  @Group(() => ModelGroup)
  model: ModelGroup;

  @Doc('environment of the episodes')
  @Group(() => EnvironmentGroup)
  environment: EnvironmentGroup;

  @Doc('task sources for training')
  @Choice('task-source', { many: true })
  tasks: TaskSourceChoice[];

  @Doc('task sources for evaluation only')
  @Choice('task-source', { many: true })
  eval_tasks: TaskSourceChoice[] = [];

  @Doc('component that decides whether an episode succeeded')
  @Choice('verifier')
  verifier: ComponentChoice = { name: 'checks' };

  @Doc('reward functions, summed; default: that of the environment if it has one (ui-verifiers: progress)')
  @Choice('reward', { many: true })
  rewards: ComponentChoice[] = [{ name: 'task-success' }];

  @Doc('rollouts')
  @Group(() => RolloutGroup)
  rollout: RolloutGroup;

  @Doc('advantage, loss and regularizers')
  @Group(() => AlgorithmGroup)
  algorithm: AlgorithmGroup;

  @Doc('optimization and length of the run')
  @Group(() => TrainingGroup)
  training: TrainingGroup;

  @Doc('critic, for algorithms with state values (PPO)')
  @Group(() => CriticGroup)
  critic: CriticGroup;

  @Doc('teacher, for algorithm.advantage distillation')
  @Group(() => TeacherGroup)
  teacher: TeacherGroup;

  @Doc('evaluation')
  @Group(() => EvaluationGroup)
  evaluation: EvaluationGroup;

  @Doc('asynchronous sampling')
  @Group(() => AsyncGroup)
  async: AsyncGroup;

  @Doc('records of the run')
  @Group(() => LoggingGroup)
  logging: LoggingGroup;

  @Doc(
    'modules with further components: paths (./…) or npm packages; services get theirs from up --plugins, or UIRL_PLUGINS',
  )
  @IsArray()
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  plugins: string[] = [];
}
