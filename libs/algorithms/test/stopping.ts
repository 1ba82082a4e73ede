import type { AdvantageEstimator, EpisodeGroup, TurnExperience } from '@ui-rl/plugin-kit';

/** A turn with as many tokens as values. */
export function turnOf(reward: number, values: readonly number[], screenshot = 'a'): TurnExperience {
  return {
    ...{ reward, screenshot, logprobs: new Float32Array(values.length) },
    inputs: { values: Float32Array.from(values) },
  };
}

export function groupOf(...episodes: TurnExperience[][]): EpisodeGroup {
  return {
    task: { id: 't', description: 'Turn on Wi-Fi' },
    episodes: episodes.map((turns, index) => ({
      rolloutId: `r${index}`,
      reward: turns.reduce((sum, { reward }) => sum + reward, 0),
      rewards: {},
      success: null,
      status: 'completed',
      turns,
    })),
  };
}

/**
 * A policy that decides when to stop: at turns 0 and 1 it continues with some probability, after turn 2 the episode
 * is over. All outcomes are enumerated, so that expected gradients are exact.
 */
export class StoppingPolicy {
  /** Value of continuing from turn 0, from turn 1, and of being at turn 2. */
  readonly worth: readonly number[];
  /**
   * d J / d logit of continuing at turns 0 and 1: probability of reaching the turn, times p (1 − p), times the gain.
   */
  readonly gradient: readonly number[];

  /**
   * @param goOn probability of continuing at turns 0 and 1
   * @param earned reward by the turn at which it stops
   */
  constructor(
    private readonly goOn: readonly [number, number],
    private readonly earned: readonly [number, number, number],
  ) {
    const [p0, p1] = goOn;
    const [first, second, third] = earned;
    const fromSecond = (1 - p1) * second + p1 * third;
    this.worth = [(1 - p0) * first + p0 * fromSecond, fromSecond, third];
    this.gradient = [p0 * (1 - p0) * (fromSecond - first), p0 * p1 * (1 - p1) * (third - second)];
  }

  /**
   * Expectation over groups of a size: Σ advantage · d log π / d logit, per episode. Every turn has its own screen.
   */
  expectedGradient(
    estimate: AdvantageEstimator['estimate'],
    { values = [0, 0, 0], groupSize = 2 }: { values?: readonly number[]; groupSize?: number } = {},
  ): number[] {
    const gradient = [0, 0];
    for (let which = 0; which < 3 ** groupSize; which += 1) {
      const stops = Array.from({ length: groupSize }, (_, e) => Math.floor(which / 3 ** e) % 3);
      const { advantages } = estimate([groupOf(...stops.map((stop) => this.episode(stop, values)))]);
      const probability = stops.reduce((product, stop) => product * this.probability(stop), 1);
      stops.forEach((stop, e) => {
        for (const at of [0, 1]) {
          if (at > stop) continue;
          const slope = (at < stop ? 1 : 0) - this.goOn[at];
          gradient[at] += (probability * advantages[0][e]![at][0] * slope) / groupSize;
        }
      });
    }
    return gradient;
  }

  private probability(stop: number): number {
    const [p0, p1] = this.goOn;
    return [1 - p0, p0 * (1 - p1), p0 * p1][stop];
  }

  private episode(stop: number, values: readonly number[]): TurnExperience[] {
    return Array.from({ length: stop + 1 }, (_, at) =>
      turnOf(at === stop ? this.earned[stop] : 0, [values[at]], `screen ${at}`),
    );
  }
}
