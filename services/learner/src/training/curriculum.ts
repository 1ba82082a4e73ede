import { mean } from '@ui-rl/algorithms';
import type { CurriculumChoice, GroupResult, Trajectory } from '@ui-rl/contracts';
import type { Group } from '../episodes/groups';
import { nameOf } from '../episodes/task-health';

/** Results of groups for a curriculum; groups without a valid episode are excluded. */
export function groupResults(groups: readonly Group[]): GroupResult[] {
  return groups
    .filter(({ trajectories }) => trajectories.length > 0)
    .map(({ index, task, trajectories }) => ({
      group: index,
      task: nameOf(task),
      episodes: trajectories.length,
      score: mean(trajectories.map(scoreOf)),
    }));
}

function scoreOf({ success, reward }: Trajectory): number {
  return success === null ? Math.min(1, Math.max(0, reward)) : Number(success);
}

/** The state of a curriculum's tasks when the latest group was requested; empty without a curriculum. */
export function curriculumMetrics(groups: readonly Group[]): Record<string, number> {
  const choices = groups
    .toSorted((a, b) => a.index - b.index)
    .flatMap(({ trajectories: [first] }): CurriculumChoice[] => {
      const choice = first?.request.curriculum;
      return choice === undefined ? [] : [choice];
    });
  const newest = choices.at(-1);
  if (newest === undefined) return {};
  return {
    'curriculum/tasks_in_band': newest.inBand,
    'curriculum/tasks_too_hard': newest.tooHard,
    'curriculum/tasks_too_easy': newest.tooEasy,
    'curriculum/tasks_unmeasured': newest.unmeasured,
    'curriculum/tasks_waiting': newest.waiting,
    'curriculum/frac_explored': mean(choices.map(({ reason }) => (reason === 'explored' ? 1 : 0))),
    ...(newest.level === undefined ? {} : { 'curriculum/level': newest.level }),
  };
}
