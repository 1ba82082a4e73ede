import type { EvaluationEvent } from './events';

type Scored = Pick<EvaluationEvent, 'stage' | 'set' | 'successRate' | 'interval'>;

/**
 * The evaluation of a run's best checkpoint: the final one, unless an earlier one of the same goals has a success
 * rate above the final one's 95 % interval, or the warm start has any higher rate, because later training must not
 * fall below it. Uses training goals if they were evaluated, else the unseen ones. Undefined before the final
 * evaluation.
 */
export function bestEvaluation<E extends Scored>(evaluations: readonly E[]): E | undefined {
  const finals = evaluations.filter(({ stage, successRate }) => stage === 'final' && successRate !== null);
  const final = finals.find(({ set }) => set === 'train_goals') ?? finals[0];
  if (final === undefined) return undefined;
  const better = evaluations.filter(
    ({ set, stage, successRate }) =>
      set === final.set &&
      successRate !== null &&
      successRate > (stage === 'warm_start' ? final.successRate! : final.interval[1]),
  );
  return better.reduce((best, each) => (each.successRate! > best.successRate! ? each : best), final);
}
