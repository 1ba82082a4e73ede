import type { RunFile } from '@ui-rl/settings';
import type { LossOptions } from '@ui-rl/engine';
import type { LoraConfig } from '@ui-rl/models';
import type { LearnerOptions, Selection } from './options';

/** Unacknowledged messages the broker hands out to one consumer, and pull requests it lets wait: 512 by default. */
const MAX_OPEN_TRAJECTORIES = 500;

/** What the machine says, not the run. */
export type MachineOptions = Pick<LearnerOptions, 'hub' | 'cacheDir'>;

/** The learner's part of a run file. Throws where options do not go together. */
export function learnerOptions(run: RunFile, { hub, cacheDir }: MachineOptions): LearnerOptions {
  const { algorithm, training, rollout } = run;
  const options: LearnerOptions = {
    runsDir: run.logging.log_dir,
    engine: engineOptions(run),
    hub,
    cacheDir,
    historyTurns: run.model.history_turns,
    selection: selectionOf(algorithm),
    loss: lossOf(algorithm),
    learningRate: {
      kind: training.lr_schedule,
      peak: training.learning_rate,
      warmupSteps: training.warmup_steps,
      ...(training.max_steps > 0 ? { totalSteps: training.max_steps } : {}),
    },
    maxGradNorm: training.max_grad_norm,
    groupSize: rollout.group_size,
    groupsPerBatch: training.groups_per_batch,
    substeps: training.num_substeps,
    minibatches: training.num_minibatches,
    maxStepsOffPolicy: run.async.max_steps_off_policy,
    maxReplacedGroups: algorithm.dynamic_sampling ? algorithm.dynamic_sampling_limit : 0,
    maxAttempts: rollout.max_attempts,
    maxSteps: training.max_steps,
    maxMinutes: training.max_minutes,
    keepEvery: [training.save_every, training.eval_every],
    uploads: 'all',
  };
  checkTogether(options);
  return options;
}

/** Whether a step's checkpoint stays, however old it is. */
export function keepsCheckpoint({ keepEvery }: LearnerOptions, step: number): boolean {
  return step === 0 || keepEvery.some((every) => every > 0 && step % every === 0);
}

/** Trajectories that may wait for their batch at the same time. */
export function openTrajectories(options: LearnerOptions): number {
  const groups = (options.maxStepsOffPolicy + 1) * options.groupsPerBatch + options.maxReplacedGroups;
  return groups * options.groupSize;
}

function checkTogether(options: LearnerOptions): void {
  const open = openTrajectories(options);
  if (open > MAX_OPEN_TRAJECTORIES) {
    throw new Error(
      `up to ${open} episodes would wait for their batch, at most ${MAX_OPEN_TRAJECTORIES} can: lower ` +
        'training.groups_per_batch, rollout.group_size, async.max_steps_off_policy or algorithm.dynamic_sampling_limit',
    );
  }
  const { kind, totalSteps } = options.learningRate;
  if (kind !== 'constant' && totalSteps === undefined) {
    throw new Error(`training.lr_schedule ${kind} needs training.max_steps, which is 0`);
  }
}

function engineOptions({ model, rollout, training }: RunFile): LearnerOptions['engine'] {
  return {
    modelDir: model.name,
    device: model.device,
    trainable: model.use_lora ? { mode: 'lora', lora: loraOf(model.lora) } : { mode: 'full' },
    maxRows: rollout.concurrency,
    maxSequence: model.max_sequence,
    ...(model.threads > 0 ? { threads: model.threads } : {}),
    deterministic: training.deterministic,
    seed: training.seed,
    optimizer: { weightDecay: training.weight_decay },
    gradientCheckpointing: training.gradient_checkpointing,
    weights: model.dtype,
    quantization: model.quantization,
  };
}

function loraOf({ use_rslora: rslora, ...lora }: RunFile['model']['lora']): LoraConfig {
  return { ...lora, rslora };
}

function selectionOf(algorithm: RunFile['algorithm']): Selection {
  const { name, reward_threshold: rewardThreshold, best_of_group: bestOfGroup } = algorithm;
  if (name === 'rejection_sampling') return { kind: 'rejection', rewardThreshold, bestOfGroup };
  return { kind: 'advantage', advantage: name };
}

function lossOf(algorithm: RunFile['algorithm']): LossOptions {
  return {
    name: algorithm.loss,
    clipLow: algorithm.clip_low,
    clipHigh: algorithm.clip_high,
    dualClip: algorithm.dual_clip,
    aggregation: algorithm.loss_aggregation,
    constantTokens: algorithm.constant_tokens,
  };
}
