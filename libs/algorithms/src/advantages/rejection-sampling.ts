import { IsBoolean, IsInt, IsNumber, Min } from 'class-validator';
import { Doc, type AdvantageComponent, type AdvantageEstimate, type EpisodeGroup } from '@ui-rl/plugin-kit';
import { mean } from './statistics';
import { forEpisodes, rewardsOf } from './per-episode';
import { nameOf, SuccessBuffer, SuccessRates, type StoredMemory } from './success-memory';

export class RejectionSamplingOptions {
  @Doc('return threshold; episodes above it are kept')
  @IsNumber()
  reward_threshold = 0;

  @Doc('keep only the best of these in each group')
  @IsBoolean()
  best_of_group = false;

  @Doc(
    'weight episodes by the measured failure rate of their task, which includes groups that dynamic_sampling replaces',
  )
  @IsBoolean()
  weight_by_success_rate = false;

  @Doc('number of successes kept for later batches, rare ones longest; 0 = none')
  @IsInt()
  @Min(0)
  buffer_size = 0;

  @Doc('maximum number of kept successes added to a batch')
  @IsInt()
  @Min(1)
  buffer_episodes = 8;
}

/** Selects the episodes with a sufficient return for imitation. */
export const rejectionSampling: AdvantageComponent<RejectionSamplingOptions> = {
  kind: 'advantage',
  name: 'rejection_sampling',
  description: 'Imitates the episodes whose return exceeds a threshold.',
  options: RejectionSamplingOptions,
  gives: 'selection',
  conflicts: ({ buffer_size, buffer_episodes }) => {
    const isIdle = buffer_size === 0 && buffer_episodes !== new RejectionSamplingOptions().buffer_episodes;
    return isIdle ? ['buffer_episodes would have no effect: it needs a buffer_size above 0'] : [];
  },
  create: (options) => ({
    estimate: (groups, memory, untrained) =>
      new Selection(options, memory as StoredMemory | undefined).of(groups, untrained),
    hasLearningSignal: (group) => select(group, options).includes(true),
  }),
};

/** The episodes of a group with a sufficient return. */
function select(
  group: EpisodeGroup,
  { reward_threshold, best_of_group }: RejectionSamplingOptions,
): boolean[] {
  const rewards_G = rewardsOf(group);
  const best = Math.max(...rewards_G);
  return rewards_G.map((reward) => reward > reward_threshold && (!best_of_group || reward === best));
}

/** The selection from one batch, including remembered episodes. */
class Selection {
  private readonly rates: SuccessRates;
  private readonly buffer: SuccessBuffer;

  constructor(
    private readonly options: RejectionSamplingOptions,
    memory: StoredMemory | undefined,
  ) {
    this.rates = new SuccessRates(memory?.tasks);
    this.buffer = new SuccessBuffer(options.buffer_size, memory?.kept);
  }

  /**
   * @param untrained also played for the batch: groups that failed completely count in the success rate of their task
   */
  of(groups: readonly EpisodeGroup[], untrained: readonly EpisodeGroup[] = []): AdvantageEstimate {
    const fresh = groups.filter(({ isReplayed }) => isReplayed !== true);
    this.rates.add(this.measure([...fresh, ...untrained]));
    const replayed = this.buffer.replay(this.options.buffer_episodes, this.rates);
    const weights_G_E = groups.map((group) => this.weigh(group, replayed));
    this.buffer.add(
      fresh.flatMap((group) =>
        select(group, this.options).flatMap((isChosen, index) =>
          isChosen ? [{ rolloutId: group.episodes[index].rolloutId, task: nameOf(group) }] : [],
        ),
      ),
    );
    const { options } = this;
    const isRemembered = options.weight_by_success_rate || options.buffer_size > 0;
    const memory: StoredMemory = { tasks: this.rates.toStored(), kept: this.buffer.toStored() };
    return {
      advantages: groups.map((group, index) => forEpisodes(group, weights_G_E[index])),
      ...(isRemembered ? { memory } : {}),
      ...(options.buffer_size > 0 ? { keep: this.buffer.rolloutIds } : {}),
      metrics: this.metrics(weights_G_E, replayed.size),
    };
  }

  private measure(groups: readonly EpisodeGroup[]): Map<string, { successes: number; episodes: number }> {
    const measured = new Map<string, { successes: number; episodes: number }>();
    for (const group of groups) {
      const count = measured.get(nameOf(group)) ?? { successes: 0, episodes: 0 };
      const good = rewardsOf(group).filter((reward) => reward > this.options.reward_threshold);
      count.successes += good.length;
      count.episodes += group.episodes.length;
      measured.set(nameOf(group), count);
    }
    return measured;
  }

  /** [E] the weight of each episode of a group; null: not trained on. */
  private weigh(group: EpisodeGroup, replayed: ReadonlySet<string>): (number | null)[] {
    const weight = this.options.weight_by_success_rate ? this.rates.failureRate(nameOf(group)) : 1;
    const chosen =
      group.isReplayed === true
        ? group.episodes.map(({ rolloutId }) => replayed.has(rolloutId))
        : select(group, this.options);
    return chosen.map((isChosen) => (isChosen ? weight : null));
  }

  private metrics(weights_G_E: readonly (number | null)[][], replayed: number): Record<string, number> {
    const { buffer_size, weight_by_success_rate } = this.options;
    const weights = weights_G_E.flat().filter((weight) => weight !== null);
    return {
      chosen: weights.length - replayed,
      ...(weight_by_success_rate ? { weight_mean: mean(weights) } : {}),
      ...(buffer_size > 0 ? { replayed, buffered: this.buffer.rolloutIds.length } : {}),
    };
  }
}
