import { IsBoolean, Max, Min } from 'class-validator';
import { Doc, type AdvantageComponent, type EpisodeGroup } from '@ui-rl/plugin-kit';
import { rewardsOf } from './per-episode';
import { discountedReturns } from './returns';
import { differ, mean, standardDeviation } from './statistics';

const STD_EPSILON = 1e-6;

export class GigpoOptions {
  @Doc(
    'weight of the comparison of turns from the same screen, next to that of whole episodes; biased if the policy decides when to stop, more so in small groups: use 0 there, or ppo with a critic',
  )
  @Min(0)
  step_weight = 1;

  @Doc('discount γ per turn')
  @Min(0)
  @Max(1)
  gamma = 0.95;

  @Doc('divide both comparisons by their standard deviation')
  @IsBoolean()
  divide_by_std = true;
}

/**
 * Group-in-group policy optimization, Feng et al. 2025 (arXiv:2505.10978), eq. 3 to 8: the episode's return relative
 * to its group, plus step_weight times the discounted return from a turn on relative to all turns of the group with
 * the same screenshot, pixel by pixel. A turn with a unique screenshot has no comparison: 0. Screens that few
 * episodes of a group reach therefore have less weight. If the policy itself decides how far it proceeds, this biases
 * it towards stopping early; comparing whole episodes only (step_weight 0) or with a critic does not.
 */
export const gigpo: AdvantageComponent<GigpoOptions> = {
  kind: 'advantage',
  name: 'gigpo',
  description:
    'The advantage of the episode in its group, plus that of each turn among turns from the same screen.',
  options: GigpoOptions,
  conflicts: ({ step_weight, gamma }) => {
    const isIdle = step_weight === 0 && gamma !== new GigpoOptions().gamma;
    return isIdle ? ['gamma would have no effect: it needs a step_weight above 0'] : [];
  },
  create: (options) => {
    const numbersOf = (group: EpisodeGroup): number[][] => advantagesOf(group, options);
    return {
      estimate: (groups) => {
        const numbers = groups.map(numbersOf);
        return {
          advantages: groups.map(({ episodes }, g) =>
            episodes.map(({ turns }, e) =>
              turns.map(({ logprobs }, t) => new Float32Array(logprobs.length).fill(numbers[g][e][t])),
            ),
          ),
          metrics: { compared_turns: mean(groups.map(sharedScreens)) },
        };
      },
      // Even if all succeed, some did so in fewer turns.
      hasLearningSignal: (group) => numbersOf(group).some((turns) => turns.some((number) => number !== 0)),
    };
  },
};

/** [episode][turn] */
function advantagesOf(group: EpisodeGroup, { step_weight, gamma, divide_by_std }: GigpoOptions): number[][] {
  const ofEpisodes = compared(rewardsOf(group), divide_by_std);
  const returns = group.episodes.map(({ turns }) =>
    discountedReturns(
      turns.map(({ reward }) => reward),
      gamma,
    ),
  );
  const advantages = returns.map((turns, e) => turns.map(() => ofEpisodes[e]));
  for (const places of placesByScreen(group).values()) {
    const ofTurns = compared(
      places.map(([e, t]) => returns[e][t]),
      divide_by_std,
    );
    places.forEach(([e, t], index) => (advantages[e][t] += step_weight * ofTurns[index]));
  }
  return advantages;
}

/** Values minus their mean; exactly 0 if all are equal. */
function compared(values: readonly number[], divideByStd: boolean): number[] {
  if (!differ(values)) return values.map(() => 0);
  const centre = mean(values);
  const scale = divideByStd ? 1 / (standardDeviation(values) + STD_EPSILON) : 1;
  return values.map((value) => (value - centre) * scale);
}

/** sha256 of a screenshot → [episode, turn] of the turns with it. */
function placesByScreen({ episodes }: EpisodeGroup): Map<string, [number, number][]> {
  const places = new Map<string, [number, number][]>();
  episodes.forEach(({ turns }, e) =>
    turns.forEach(({ screenshot }, t) => {
      const same = places.get(screenshot);
      if (same === undefined) places.set(screenshot, [[e, t]]);
      else same.push([e, t]);
    }),
  );
  return places;
}

/** Share of turns whose screenshot occurs in another turn of the group. */
function sharedScreens(group: EpisodeGroup): number {
  return mean(
    [...placesByScreen(group).values()].flatMap((places) => places.map(() => (places.length > 1 ? 1 : 0))),
  );
}
