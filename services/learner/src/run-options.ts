import type { RunFile } from '@ui-rl/settings';

/**
 * The options that name components or files for the learner. Checkpoints keep their addresses: the learner fetches them
 * when a run starts.
 */
export const LEARNER_USES = [
  'model.action_format',
  'engine',
  'sampler',
  'algorithm',
  'teacher.engine',
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
