import { Doc, type Episode } from '@ui-rl/plugin-kit';
import { IsNumber, Max } from 'class-validator';

export class RawRewardOptions {
  @Doc('minimum reward: pages give down to -1 for errors; 0 removes these penalties')
  @IsNumber()
  @Max(0)
  at_least = -1;
}

/** The page's reward; 0 if the page did not end the episode. Throws if it is not a MiniWoB++ page. */
export function scoreOf(
  { task, stateAfter }: Pick<Episode, 'task' | 'stateAfter'>,
  { at_least }: RawRewardOptions,
): number {
  const raw = stateAfter?.raw_reward;
  if (typeof raw === 'number') return Math.max(at_least, raw);
  throw new Error(
    `reward "miniwob-raw": the state of task "${task.id ?? task.description}" has no raw_reward; only tasks of the source "miniwob" do`,
  );
}
