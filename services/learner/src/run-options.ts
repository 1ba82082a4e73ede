import type { RunFile } from '@ui-rl/settings';
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
  'teacher',
  'training',
  'eval_tasks',
  'logging',
];

/** Whether a step's checkpoint is kept regardless of its age. */
export function keepsCheckpoint({ training }: RunFile, step: number): boolean {
  const every = [training.save_every, training.eval_every];
  return step === 0 || every.some((steps) => steps > 0 && step % steps === 0);
}

/** With a bound of 0, every step waits for all of its episodes. */
export function stragglerFactor({
  max_steps_off_policy: steps,
  straggler_factor: factor = 4,
}: RunFile['async']): number {
  return steps > 0 ? factor : 0;
}

/** The learning options of a run. */
export function algorithmOptions({ algorithm, critic, training, rollout }: RunFile): AlgorithmOptions {
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
