import { IsNumber, Min } from 'class-validator';
import { Above, Doc } from '@ui-rl/plugin-kit';

export class ShapedOptions {
  @Doc('reward for a success; more than a failure can gain: twice progress, plus max_penalty')
  @IsNumber()
  @Above(0)
  success = 1;

  @Doc(
    'reward for all checks of the task together: each pays its share when it begins to hold, and takes it back when it stops',
  )
  @IsNumber()
  @Min(0)
  progress = 0.2;

  @Doc('penalty per turn')
  @IsNumber()
  @Min(0)
  step_cost = 0.005;

  @Doc('penalty for a turn that repeats actions on the same screen, except waiting')
  @IsNumber()
  @Min(0)
  repeated_action = 0.01;

  @Doc('penalty for an answer without a readable action')
  @IsNumber()
  @Min(0)
  parse_error = 0.02;

  @Doc(
    'penalty if the policy ends the episode before the task is done; more than the cost of further turns, so that giving up does not pay',
  )
  @IsNumber()
  @Min(0)
  early_finish = 0.1;

  @Doc('maximum penalty of all turns of an episode, without early_finish')
  @IsNumber()
  @Min(0)
  max_penalty = 0.5;
}

/**
 * Why a failed episode could earn as much as a successful one; null if none can. A success earns at least `success`,
 * minus lost progress and `max_penalty`; a failure earns at most `progress`.
 */
export function weightsProblem({ success, progress, max_penalty: penalty }: ShapedOptions): string | null {
  const ahead = 2 * progress + penalty;
  if (success > ahead) return null;
  return (
    `reward shaped: success is ${success}, but a failed episode may be ahead by 2 × progress + max_penalty = ${Number(ahead.toPrecision(6))}, ` +
    'and would earn as much as a successful one: raise success, or lower progress or max_penalty'
  );
}
