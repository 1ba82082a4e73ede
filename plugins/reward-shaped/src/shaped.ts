import {
  answerOf,
  checkHolds,
  type DetailedReward,
  type EpisodeTurn,
  type JudgedEpisode,
} from '@ui-rl/plugin-kit';
import type { ShapedOptions } from './options';

type Parts = Record<string, number>;

/**
 * The reward of an episode: success at its end, the other parts in the turns that earned them if the environment
 * reports its state after each turn.
 */
export function shapedReward(episode: JudgedEpisode, options: ShapedOptions): DetailedReward {
  const turns: Parts[] = penalties(episode.turns, options);
  const whole: Parts = {
    success: episode.success === true ? options.success : 0,
    // Avoids -0, which JSON does not have.
    early_finish: 0 - (isEarlyFinish(episode) ? options.early_finish : 0),
  };
  const gained = progressByTurn(episode);
  if (options.progress > 0) {
    if (gained === null) whole.progress = options.progress * progressOf(episode);
    else gained.forEach((share, index) => (turns[index].progress = options.progress * share));
  }
  return { episode: whole, turns };
}

/** Whether the policy finished an episode that failed. */
function isEarlyFinish({ success, turns }: JudgedEpisode): boolean {
  return success === false && turns.at(-1)?.actions.at(-1)?.action === 'finish';
}

/** The penalty of each turn, until `max_penalty` is used up. */
function penalties(turns: readonly EpisodeTurn[], options: ShapedOptions): Parts[] {
  const repeated = repeatedTurns(turns);
  let left = options.max_penalty;
  const take = (cost: number): number => {
    const taken = Math.min(cost, left);
    left -= taken;
    // Avoids -0, which JSON does not have.
    return 0 - taken;
  };
  return turns.map(({ parseError }, index) => ({
    step_cost: take(options.step_cost),
    repeated_actions: take(repeated[index] ? options.repeated_action : 0),
    parse_errors: take(parseError === undefined ? 0 : options.parse_error),
  }));
}

/** Whether an earlier turn performed the same action on the same screen, so that nothing new can result. */
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

/** Fraction of the task's checks that hold; 0 if there are none, or the environment has no state. */
function shareThatHolds({ task }: JudgedEpisode, state: State, answer?: string): number {
  const checks = task.checks ?? [];
  if (checks.length === 0 || state === null) return 0;
  // Page checks are evaluated only at the end; before, they count as not passed.
  return (
    checks.filter((check, place) => checkHolds(check, place, state, answer) === true).length / checks.length
  );
}

/** From the first state to the last one, -1 to 1. */
function progressOf(episode: JudgedEpisode): number {
  const { stateBefore, stateAfter } = episode;
  if (stateBefore === null || stateAfter === null) return 0;
  return shareThatHolds(episode, stateAfter, answerOf(episode.turns)) - shareThatHolds(episode, stateBefore);
}

/**
 * Progress per turn, which adds up to the total: potential-based shaping (Ng, Harada and Russell, 1999, without
 * discount). Null if the environment does not report its state after each turn.
 */
function progressByTurn(episode: JudgedEpisode): number[] | null {
  const { stateBefore, stateAfter, turns } = episode;
  const after = turns.map((turn, index) => (index === turns.length - 1 ? stateAfter : turn.stateAfter));
  const states = [stateBefore, ...after];
  if (states.some((state) => state === null || state === undefined)) return null;
  const held = states.map((state, index) =>
    shareThatHolds(episode, state!, index === turns.length ? answerOf(turns) : undefined),
  );
  return turns.map((_, index) => held[index + 1] - held[index]);
}
