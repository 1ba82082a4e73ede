import { Logger } from '@nestjs/common';
import type { Engine, ComponentRegistry } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import type { WarmStartGroup } from '@ui-rl/settings';
import { Group } from '../../episodes/groups';
import type { Screenshots } from '../../policy/screenshots';
import type { Algorithm } from '../algorithm';
import { BatchTrainer, type BatchResult } from '../batch-trainer';
import type { SequenceContext } from '../turn-data';
import { StoredBatches, unitsOf, type Unit } from './stored-batches';
import type { StoredEpisodes } from './stored-episodes';

export interface WarmStartParts {
  engine: Engine;
  stored: StoredEpisodes;
  screenshots: Screenshots;
  components: ComponentRegistry;
  /** Algorithm of the subsequent reinforcement learning, which shares its optimizer. */
  algorithm: Algorithm;
  context: SequenceContext;
  seed: number;
}

/** A step on stored episodes. */
export interface WarmStartStep extends BatchResult {
  rolloutIds: string[];
}

/** Supervised training on stored episodes: the first steps of a run. The data of a step depend only on its number. */
export class WarmStart {
  private readonly logger = new Logger('training');
  private readonly units: readonly Unit[];
  private readonly batches: StoredBatches;
  private readonly trainer: BatchTrainer;

  /** @throws Misconfigured if the episodes cannot be trained on */
  constructor(
    private readonly options: WarmStartGroup,
    private readonly parts: WarmStartParts,
  ) {
    const { components, stored, engine, algorithm, context, seed } = parts;
    const lossComponent = components.get('policy-loss', options.loss.name);
    this.units = unitsOf(stored.episodes, lossComponent.scope, options.reward_threshold);
    if (this.units.length === 0) throw new Misconfigured(nothingIn(stored, lossComponent.scope, options));
    this.batches = new StoredBatches(this.units.length, {
      ...{ batchSize: options.batch_size, epochs: options.epochs, steps: options.steps },
      seed,
    });
    this.trainer = new BatchTrainer(engine, supervised(algorithm, options, lossComponent), context);
    const what = lossComponent.scope === 'pair' ? 'pairs' : 'episodes';
    this.logger.log(
      `warm start on ${this.units.length} ${what} of ${stored.episodes.length} stored episodes: ${this.steps} steps`,
    );
  }

  get steps(): number {
    return this.batches.steps;
  }

  get only(): boolean {
    return this.options.only;
  }

  /** @param step number of steps trained before, less than `steps` @param digest of the current weights */
  async train(step: number, digest: string): Promise<WarmStartStep> {
    const units = this.batches.at(step).map((index) => this.units[index]);
    const groups: Group[] = [];
    for (const [index, unit] of units.entries()) groups.push(await this.groupOf(unit, index));
    const { metrics, ...result } = await this.trainer.train(groups, step, digest);
    const progress = {
      'warm_start/epoch': this.batches.epochsAfter(step + 1),
      'warm_start/done_frac': (step + 1) / this.steps,
      'warm_start/episodes': units.flat().length,
    };
    return {
      ...result,
      metrics: { ...metrics, ...progress },
      rolloutIds: units.flat().map(({ rolloutId }) => rolloutId),
    };
  }

  private async groupOf(unit: Unit, index: number): Promise<Group> {
    const { stored, screenshots } = this.parts;
    const episodes = await Promise.all(unit.map((episode) => stored.read(episode)));
    for (const { images } of episodes) for (const png of images.values()) await screenshots.measure(png);
    return Group.replayed(
      index,
      `stored-${index}`,
      episodes.map(({ trajectory }) => trajectory),
    );
  }
}

/** Returns of episodes rank the sides of pairs; every selected episode is imitated with the same weight. */
function supervised(
  algorithm: Algorithm,
  { loss, learning_rate }: WarmStartGroup,
  lossComponent: Algorithm['lossComponent'],
): Algorithm {
  return {
    ...algorithm,
    ...{ lossComponent, lossInputs: lossComponent.inputs, skipsZeroAdvantages: false },
    options: {
      ...algorithm.options,
      ...{ loss, regularizers: [], kl_penalty_coef: 0, compute_post_kl: false },
      // Every pair has the same weight, however long its episodes are.
      ...(lossComponent.scope === 'pair' ? { loss_aggregation: 'sequence-mean' as const } : {}),
    },
    training: { ...algorithm.training, learning_rate, num_substeps: 1 },
    advantage: { name: 'return of stored episodes' },
    estimator: {
      estimate: (groups) => ({
        advantages: groups.map(({ episodes }) =>
          episodes.map(({ turns, reward }) => turns.map(({ logprobs }) => logprobs.map(() => reward))),
        ),
      }),
    },
    correction: null,
    critic: undefined,
    schedule: { factor: () => 1 },
  };
}

function nothingIn(
  { episodes }: StoredEpisodes,
  scope: Algorithm['lossComponent']['scope'],
  { episodes: file, reward_threshold: threshold }: WarmStartGroup,
): string {
  const found = `training.warm_start.episodes: of the ${episodes.length} episodes in ${file}`;
  return scope === 'pair'
    ? `${found} no two are of the same task and start and differ in their return`
    : `${found} none has a return above ${threshold} (training.warm_start.reward_threshold)`;
}
