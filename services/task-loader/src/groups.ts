import { type CurriculumChoice, environmentSeed, type RolloutRequest, samplingSeed } from '@ui-rl/contracts';
import type { LoadedTask } from '@ui-rl/plugin-kit';
import type { LoaderPlan } from './plan';

/** `<run>-g000123`. */
export function groupId(runId: string, index: number): string {
  return `${runId}-g${String(index).padStart(6, '0')}`;
}

/**
 * The rollouts of a training group: one task and one environment seed, with separate sampling seeds. Seeds depend on
 * the run's seed and the group index, not on the run's id, so that a run can be repeated.
 */
export function groupRollouts(
  plan: Pick<LoaderPlan, 'runId' | 'groupSize' | 'seed'>,
  index: number,
  task: LoadedTask,
  curriculum?: CurriculumChoice,
): RolloutRequest[] {
  const id = groupId(plan.runId, index);
  return Array.from({ length: plan.groupSize }, (_, indexInGroup) => ({
    rolloutId: `${id}-r${indexInGroup}`,
    runId: plan.runId,
    groupId: id,
    groupIndex: index,
    indexInGroup,
    groupSize: plan.groupSize,
    attempt: 0,
    purpose: 'train' as const,
    task,
    seed: environmentSeed('training', plan.seed, index),
    samplingSeed: samplingSeed(plan.seed, 'train', index, indexInGroup),
    policy: 'latest',
    curriculum,
  }));
}
