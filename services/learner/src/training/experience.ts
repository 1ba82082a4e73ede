import type { Trajectory, Turn } from '@ui-rl/contracts';
import type { AdvantageEstimate, EpisodeExperience, EpisodeGroup, TurnExperience } from '@ui-rl/plugin-kit';
import type { Group } from '../episodes/groups';

/** The estimator's declared inputs for one turn. */
export type InputsOf = (turn: Turn) => TurnExperience['inputs'];

/** A group in the estimators' form. It must have an episode. */
export function experienceOf(group: Group, inputsOf: InputsOf = () => ({})): EpisodeGroup {
  const { trajectories, isReplayed } = group;
  return {
    task: trajectories[0].request.task,
    ...(isReplayed ? { isReplayed } : {}),
    episodes: trajectories.map((trajectory) => episodeExperience(trajectory, inputsOf)),
  };
}

function episodeExperience(trajectory: Trajectory, inputsOf: InputsOf): EpisodeExperience {
  const { request, reward, rewards, success, status, turns } = trajectory;
  const earned = turns.map((turn) => turn.reward ?? 0);
  const forTheWhole = reward - earned.reduce((sum, part) => sum + part, 0);
  return {
    rolloutId: request.rolloutId,
    reward,
    rewards,
    success,
    status: status === 'truncated' ? 'truncated' : 'completed',
    turns: turns.map((turn, index) => ({
      reward: earned[index] + (index === turns.length - 1 ? forTheWhole : 0),
      screenshot: turn.screenshot,
      logprobs: Float32Array.from(turn.logprobs),
      inputs: inputsOf(turn),
    })),
  };
}

/** An estimator's results by turn; turns of episodes that are not trained on are missing. */
export type PerTurn = ReadonlyMap<Turn, Float32Array>;

/**
 * Numbers by turn. Throws an error that names the estimator and the episode if there is not exactly one number for
 * each sampled token.
 * @param numbers [group][episode][turn] as in `AdvantageEstimate.advantages`
 */
export function byTurn(
  groups: readonly Group[],
  numbers: AdvantageEstimate['advantages'],
  source: string,
): PerTurn {
  const found = new Map<Turn, Float32Array>();
  groups.forEach((group, g) => {
    group.trajectories.forEach(({ request, turns }, e) => {
      const episode = numbers[g]?.[e];
      if (episode === null) return;
      turns.forEach((turn, t) => {
        const own = episode?.[t];
        if (own?.length !== turn.tokenIds.length || !own.every(Number.isFinite)) {
          throw new Error(
            `${source} gives ${described(own)} for turn ${t} of episode ${request.rolloutId}, ` +
              `expected ${turn.tokenIds.length} finite numbers, one per sampled token`,
          );
        }
        found.set(turn, own);
      });
    });
  });
  return found;
}

function described(numbers: Float32Array | undefined): string {
  if (numbers === undefined) return 'nothing';
  const bad = numbers.find((number) => !Number.isFinite(number));
  return bad === undefined ? `${numbers.length} numbers` : `a ${bad}`;
}
