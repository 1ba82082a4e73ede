import { IsNumber, Min } from 'class-validator';
import { Above, Doc } from '@ui-rl/plugin-kit';

export class ShapedOptions {
  @Doc('what a success pays; more than all that a failure may be ahead by: twice progress, and max_penalty')
  @IsNumber()
  @Above(0)
  success = 1;

  @Doc(
    "what all of the task's checks are worth together: each pays its share where it begins to hold, and takes it back where it ceases",
  )
  @IsNumber()
  @Min(0)
  progress = 0.2;

  @Doc('taken for each turn')
  @IsNumber()
  @Min(0)
  step_cost = 0.005;

  @Doc('taken for a turn that does what was done on the very same screen before, waiting aside')
  @IsNumber()
  @Min(0)
  repeated_action = 0.01;

  @Doc('taken for an answer without a readable action')
  @IsNumber()
  @Min(0)
  parse_error = 0.02;

  @Doc(
    'taken where the policy ends the episode itself before the task is done; more than what going on costs, so that giving up does not pay',
  )
  @IsNumber()
  @Min(0)
  early_finish = 0.1;

  @Doc(
    'what turns may take from an episode in all; what would exceed it is not taken; early_finish is beyond it',
  )
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
