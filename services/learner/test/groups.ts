import type { Trajectory, Turn } from '@ui-rl/contracts';
import { makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { Group } from '../src/episodes/groups';

/** A complete group of valid episodes, in this order. */
export function groupOf(index: number, episodes: readonly Partial<Trajectory>[]): Group {
  const group = new Group(index, `g${index}`, episodes.length, makeTask());
  episodes.forEach((changes, member) => {
    const trajectory = makeTrajectory(changes);
    trajectory.request.indexInGroup = member;
    trajectory.request.rolloutId = `g${index}-r${member}`;
    group.add(trajectory);
  });
  return group;
}

/** A turn with this many sampled tokens. */
export function turnOf(tokens: number, changes: Partial<Turn> = {}): Turn {
  const numbers = Array.from({ length: tokens }, (_, token) => token);
  return makeTurn({ tokenIds: numbers, logprobs: numbers.map((token) => -token), ...changes });
}
