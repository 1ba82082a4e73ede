import { checkHolds, type DetailedReward, type EpisodeTurn, type JudgedEpisode } from '@ui-rl/plugin-kit';
import type { ShapedOptions } from './options';

type Parts = Record<string, number>;

/** What an episode is worth: success at its end, the rest in the turns that earned it where the environment tells its state by turns. */
export function shapedReward(episode: JudgedEpisode, options: ShapedOptions): DetailedReward {
  const turns: Parts[] = penalties(episode.turns, options);
  const whole: Parts = {
    success: episode.success === true ? options.success : 0,
    // Not -0, which JSON does not know.
    early_finish: 0 - (isEarlyFinish(episode) ? options.early_finish : 0),
  };
  const gained = progressByTurn(episode);
  if (options.progress > 0) {
    if (gained === null) whole.progress = options.progress * progressOf(episode);
    else gained.forEach((share, index) => (turns[index].progress = options.progress * share));
  }
  return { episode: whole, turns };
}

/** Whether the policy has ended an episode by itself that has failed. */
function isEarlyFinish({ success, turns }: JudgedEpisode): boolean {
  return success === false && turns.at(-1)?.actions.at(-1)?.action === 'finish';
}

/** What each turn takes, until `max_penalty` is used up. */
function penalties(turns: readonly EpisodeTurn[], options: ShapedOptions): Parts[] {
  const repeated = repeatedTurns(turns);
  let left = options.max_penalty;
  const take = (cost: number): number => {
    const taken = Math.min(cost, left);
    left -= taken;
    // Not -0, which JSON does not know.
    return 0 - taken;
  };
  return turns.map(({ parseError }, index) => ({
    step_cost: take(options.step_cost),
    repeated_actions: take(repeated[index] ? options.repeated_action : 0),
    parse_errors: take(parseError === undefined ? 0 : options.parse_error),
  }));
}

/** Whether the same was done on the same screen in an earlier turn: nothing can come of it but what came then. */
function repeatedTurns(turns: readonly EpisodeTurn[]): boolean[] {
  const seen = new Set<string>();
  return turns.map(({ observation, actions }) => {
    if (actions.every(({ action }) => action === 'wait' || action === 'finish')) return false;
    const key = `${observation.sha256} ${JSON.stringify(actions)}`;
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated;
  });
}

type State = Record<string, unknown> | null;

/** Share of the task's checks that hold; 0 where it has none, or the environment has no state. */
function shareThatHolds({ task }: JudgedEpisode, state: State): number {
  const checks = task.checks ?? [];
  if (checks.length === 0 || state === null) return 0;
  // Checks of a page are only answered at the end: before, they count as open.
  return checks.filter((check, place) => checkHolds(check, place, state) === true).length / checks.length;
}

/** From the first state to the last one, -1 to 1. */
function progressOf(episode: JudgedEpisode): number {
  const { stateBefore, stateAfter } = episode;
  if (stateBefore === null || stateAfter === null) return 0;
  return shareThatHolds(episode, stateAfter) - shareThatHolds(episode, stateBefore);
}

/**
 * The same for each turn, which adds up to it: shaping by the difference of a potential (Ng, Harada and Russell, 1999, without discount).
 * Null where the environment does not tell its state by turns.
 */
function progressByTurn(episode: JudgedEpisode): number[] | null {
  const { stateBefore, stateAfter, turns } = episode;
  const after = turns.map((turn, index) => (index === turns.length - 1 ? stateAfter : turn.stateAfter));
  const states = [stateBefore, ...after];
  if (states.some((state) => state === null || state === undefined)) return null;
  const held = states.map((state) => shareThatHolds(episode, state!));
  return turns.map((_, index) => held[index + 1] - held[index]);
}
