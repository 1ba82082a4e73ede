import { trainableOf, type RunFile } from '@ui-rl/settings';
import type { LearnerOptions, WarmStartOptions } from './options';
import type { AlgorithmOptions } from './training/algorithm';

/**
 * The options that name components or files for the learner. The initial checkpoint is fetched only when a run
 * starts.
 */
export const LEARNER_USES = [
  'model.action_format',
  'engine',
  'sampler',
  'algorithm',
  'training',
  'eval_tasks',
  'logging',
];

/** Options that the machine determines, not the run. */
export type MachineOptions = Pick<
  LearnerOptions,
  'runsDir' | 'hub' | 'models' | 'cacheDir' | 'adaptersDir' | 'samplerKeys'
>;

/** The learner's options from a run file. */
export function learnerOptions(run: RunFile, machine: MachineOptions): LearnerOptions {
  const { algorithm, model, training, rollout } = run;
  return {
    runsDir: machine.runsDir,
    hub: machine.hub,
    models: machine.models,
    cacheDir: machine.cacheDir,
    adaptersDir: machine.adaptersDir,
    samplerKeys: machine.samplerKeys,
    logDir: run.logging.log_dir,
    ifLogDirExists: run.logging.behavior_if_log_dir_exists,
    model: model.name,
    loadCheckpoint: model.load_checkpoint,
    rendererName: model.renderer_name,
    thinking: model.thinking,
    dialect: model.action_format,
    promptStyle: model.prompt,
    engine: run.engine,
    sampler: run.sampler,
    trackers: run.logging.trackers,
    groupsToLog: run.logging.num_groups_to_log,
    algorithm: algorithmOptions(run),
    warmStart: warmStartOptions(run),
    guard: guardOptions(run),
    trainable: trainableOf(model),
    maxRows: rollout.concurrency,
    maxSequence: model.max_sequence,
    deterministic: training.deterministic,
    seed: training.seed,
    groupSize: rollout.group_size,
    groupsPerBatch: training.groups_per_batch,
    maxStepsOffPolicy: run.async.max_steps_off_policy,
    updatesInFlight: run.async.in_flight_updates,
    stragglerFactor: stragglerFactor(run.async),
    maxReplacedGroups: algorithm.dynamic_sampling ? algorithm.dynamic_sampling_limit : 0,
    maxAttempts: rollout.max_attempts,
    maxSteps: training.max_steps,
    timeLimits: training,
    hasBaseline: run.evaluation.baseline,
    keepEvery: [training.save_every, training.eval_every],
    uploads: run.logging.upload_checkpoints,
  };
}

/** Whether a step's checkpoint is kept regardless of its age. */
export function keepsCheckpoint({ keepEvery }: Pick<LearnerOptions, 'keepEvery'>, step: number): boolean {
  return step === 0 || keepEvery.some((every) => every > 0 && step % every === 0);
}

/** With a bound of 0, every step waits for all of its episodes. */
function stragglerFactor({
  max_steps_off_policy: steps,
  straggler_factor: factor = 4,
}: RunFile['async']): number {
  return steps > 0 ? factor : 0;
}

function algorithmOptions({ algorithm, critic, training, rollout }: RunFile): AlgorithmOptions {
  const { rank, alpha, targets } = critic.lora;
  return {
    advantage: algorithm.advantage,
    loss: algorithm.loss,
    regularizers: algorithm.regularizers,
    klPenaltyCoef: algorithm.kl_penalty_coef,
    computePostKl: algorithm.compute_post_kl,
    correction: algorithm.correction,
    overlong: overlongOptions(algorithm, rollout),
    optimizer: training.optimizer,
    schedule: training.schedule,
    aggregation: algorithm.loss_aggregation,
    constantTokens: algorithm.constant_tokens,
    learningRate: training.learning_rate,
    maxGradNorm: training.max_grad_norm,
    substeps: training.num_substeps,
    minibatches: training.num_minibatches,
    critic: {
      lora: { rank, alpha, targets, dropout: 0, vision: false, rslora: false },
      loss: critic.loss,
      optimizer: critic.optimizer,
      learningRate: critic.learning_rate,
      maxGradNorm: critic.max_grad_norm,
      warmupSteps: critic.warmup_steps,
    },
  };
}

function overlongOptions(
  { overlong_buffer: buffer, overlong_penalty: penalty = 1 }: RunFile['algorithm'],
  { max_tokens: maxTokens }: RunFile['rollout'],
): AlgorithmOptions['overlong'] {
  return buffer === 0 ? undefined : { maxTokens, buffer, penalty };
}

function guardOptions({ training: { collapse_guard: guard } }: RunFile): LearnerOptions['guard'] {
  return {
    enabled: guard.enabled,
    patience: guard.patience,
    drop: guard.drop,
    maxRestores: guard.max_restores,
    learningRateFactor: guard.learning_rate_factor,
  };
}

function warmStartOptions({
  training: { warm_start },
  eval_tasks,
  environment,
}: RunFile): WarmStartOptions | undefined {
  const { episodes, loss, epochs, steps, only } = warm_start;
  if (episodes === undefined) return undefined;
  return {
    ...{ episodes, loss, epochs, steps, only },
    rewardThreshold: warm_start.reward_threshold,
    batchSize: warm_start.batch_size,
    learningRate: warm_start.learning_rate,
    evaluationTasks: eval_tasks,
    environment: environment.kind.name,
  };
}
