import type { ComponentChoice } from '@ui-rl/plugin-kit';
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
      ...scheduleOf(training.schedule),
      peak: training.learning_rate,
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
}

function engineOptions({ engine, model, rollout, training }: RunFile): LearnerOptions['engine'] {
  const { device, dtype, quantization, threads, gradient_checkpointing } = optionsOf(engine, [
    'local',
  ]) as unknown as LocalOptions;
  const { weight_decay } = optionsOf(training.optimizer, ['adamw']) as unknown as { weight_decay: number };
  return {
    modelDir: model.name,
    device,
    trainable: model.use_lora ? { mode: 'lora', lora: loraOf(model.lora) } : { mode: 'full' },
    maxRows: rollout.concurrency,
    maxSequence: model.max_sequence,
    ...(threads > 0 ? { threads } : {}),
    deterministic: training.deterministic,
    seed: training.seed,
    optimizer: { weightDecay: weight_decay },
    gradientCheckpointing: gradient_checkpointing,
    weights: dtype,
    quantization,
  };
}

interface LocalOptions {
  device: LearnerOptions['engine']['device'];
  dtype: NonNullable<LearnerOptions['engine']['weights']>;
  quantization: NonNullable<LearnerOptions['engine']['quantization']>;
  threads: number;
  gradient_checkpointing: 'auto' | 'on' | 'off';
}

function loraOf({ use_rslora: rslora, ...lora }: RunFile['model']['lora']): LoraConfig {
  return { ...lora, rslora };
}

function scheduleOf(schedule: ComponentChoice): Pick<LearnerOptions['learningRate'], 'kind' | 'warmupSteps'> {
  const { warmup_steps } = optionsOf(schedule, ['constant', 'linear', 'cosine']) as unknown as {
    warmup_steps: number;
  };
  return { kind: schedule.name as 'constant' | 'linear' | 'cosine', warmupSteps: warmup_steps };
}

function selectionOf({ advantage, correction }: RunFile['algorithm']): Selection {
  optionsOf(correction, ['none']);
  const options = optionsOf(advantage, ['grpo', 'dr_grpo', 'rejection_sampling']) as unknown as {
    reward_threshold: number;
    best_of_group: boolean;
  };
  if (advantage.name === 'rejection_sampling') {
    return {
      kind: 'rejection',
      rewardThreshold: options.reward_threshold,
      bestOfGroup: options.best_of_group,
    };
  }
  return { kind: 'advantage', advantage: advantage.name as 'grpo' | 'dr_grpo' };
}

function lossOf(algorithm: RunFile['algorithm']): LossOptions {
  const { loss } = algorithm;
  const options = optionsOf(loss, ['importance_sampling', 'ppo', 'cross_entropy']) as unknown as {
    clip_low?: number;
    clip_high?: number;
    dual_clip?: number;
  };
  return {
    name: loss.name as LossOptions['name'],
    clipLow: options.clip_low,
    clipHigh: options.clip_high,
    dualClip: options.dual_clip,
    aggregation: algorithm.loss_aggregation,
    constantTokens: algorithm.constant_tokens,
  };
}

/** The options of a chosen component. Throws where it is none that this learner can train with. */
function optionsOf(choice: ComponentChoice, known: readonly string[]): ComponentChoice {
  if (known.includes(choice.name)) return choice;
  throw new Error(`the learner cannot train with "${choice.name}" yet, expected ${known.join(' or ')}`);
}
