import { IsInt, Max, Min } from 'class-validator';
import { Doc, PluginError, type Schedule, type ScheduleContext } from '@ui-rl/plugin-kit';

export class WarmupOptions {
  @Doc('warm-up steps')
  @IsInt()
  @Min(0)
  warmup_steps = 0;
}

export class DecayOptions extends WarmupOptions {
  @Doc('final learning rate, as a share of its peak')
  @Min(0)
  @Max(1)
  final_fraction = 0;
}

/** Warm-up step s has (s + 1) / `warmup_steps` of the peak, so that no step is wasted at rate 0; `after` follows. */
export function warmedUp({ warmup_steps }: WarmupOptions, after: (step: number) => number): Schedule {
  return { factor: (step) => (step < warmup_steps ? (step + 1) / warmup_steps : after(step - warmup_steps)) };
}

/**
 * Falls from the peak to `final_fraction` of it, where it stays beyond the run's end.
 * @param remaining share that remains at `progress`, which is a share of the steps: 1 at 0, 0 at 1
 */
export function decaying(
  name: string,
  options: DecayOptions,
  { totalSteps }: ScheduleContext,
  remaining: (progress: number) => number,
): Schedule {
  const { warmup_steps, final_fraction } = options;
  if (totalSteps === 0) {
    throw new PluginError(
      'option',
      `schedule ${name} reaches its end at training.max_steps, which is 0 (no limit): give a number above 0`,
    );
  }
  // A run that ends within its warm-up, such as a short trial of a run file, gets no further.
  const decaySteps = Math.max(1, totalSteps - warmup_steps);
  return warmedUp(options, (step) => {
    const progress = Math.min(1, step / decaySteps);
    return final_fraction + (1 - final_fraction) * remaining(progress);
  });
}
