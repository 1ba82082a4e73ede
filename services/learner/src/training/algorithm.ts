import type { LossAggregation } from '@ui-rl/algorithms';
import {
  PluginError,
  type AdvantageComponent,
  type AdvantageEstimator,
  type ComponentChoice,
  type ComponentRegistry,
  type Correction,
  type LossInput,
  type PolicyLossComponent,
  type RegularizerComponent,
  type Schedule,
} from '@ui-rl/plugin-kit';
import { withOverlongPenalty, type OverlongOptions } from './overlong';
import type { CriticAlgorithm, CriticOptions } from './critic-trainer';

/** How a run learns, as its run file chooses. */
export interface AlgorithmOptions {
  advantage: ComponentChoice;
  loss: ComponentChoice;
  /** What is added to the loss. */
  regularizers: readonly ComponentChoice[];
  /** How much drift from the base model is taken off advantages; 0 = nothing. */
  klPenaltyCoef: number;
  /** Whether log-probabilities before and after a step are compared. */
  computePostKl: boolean;
  correction: ComponentChoice;
  /** What long answers lose; nothing unless given. */
  overlong?: OverlongOptions | undefined;
  optimizer: ComponentChoice;
  schedule: ComponentChoice;
  aggregation: LossAggregation;
  /** The divisor of aggregation `constant`, in tokens. */
  constantTokens?: number;
  /** At the peak of the schedule. */
  learningRate: number;
  /** Gradients are scaled down to this norm; 0 = never. */
  maxGradNorm: number;
  /** Optimizer steps per step: parts its batch is split into, by groups. */
  substeps: number;
  /** Passes of each optimizer step, at least. */
  minibatches: number;
  /** A critic, for components that read `values`; no other run trains one. */
  critic?: CriticOptions;
}

/** The components of a run's algorithm, and what they declare. */
export interface Algorithm extends Omit<
  AlgorithmOptions,
  'advantage' | 'correction' | 'schedule' | 'critic'
> {
  advantage: Pick<AdvantageComponent, 'name' | 'inputs' | 'gives'>;
  estimator: AdvantageEstimator;
  lossComponent: PolicyLossComponent;
  /** What the loss and its regularizers read. */
  lossInputs: readonly LossInput[];
  /** Whether tokens without an advantage have no gradient. */
  skipsZeroAdvantages: boolean;
  correction: Correction | null;
  schedule: Schedule;
  /** Where something reads `values`. */
  critic: CriticAlgorithm | undefined;
}

/**
 * Makes the components that run here; loss and optimizer run in the engine. Throws a `PluginError` `option` where one of them
 * needs what this run does not have.
 * @param maxSteps steps of the run, a batch each; 0 where it has no limit
 */
export function makeAlgorithm(
  options: AlgorithmOptions,
  components: ComponentRegistry,
  maxSteps: number,
): Algorithm {
  const advantage = components.get('advantage', options.advantage.name);
  const lossComponent = components.get('policy-loss', options.loss.name);
  const regularizers = options.regularizers.map(({ name }) => components.get('regularizer', name));
  const readers = [lossComponent, ...regularizers];
  refuseWithoutCritic(advantage, readers, options.critic);
  for (const each of readers) refuseWithoutReturns(advantage, each);
  const { critic } = options;
  const trainsCritic = critic !== undefined && [advantage, ...readers].some(readsValues);
  const estimator = components.create('advantage', options.advantage, {});
  return {
    ...options,
    advantage,
    lossComponent,
    lossInputs: [...new Set([lossComponent, ...regularizers].flatMap(({ inputs }) => inputs))],
    skipsZeroAdvantages: lossComponent.skipsZeroAdvantages === true && regularizers.length === 0,
    estimator: options.overlong === undefined ? estimator : withOverlongPenalty(estimator, options.overlong),
    correction: components.create('correction', options.correction, {}),
    schedule: components.create('schedule', options.schedule, { totalSteps: maxSteps }),
    critic: trainsCritic
      ? { ...critic, lossComponent: components.get('policy-loss', critic.loss.name) }
      : undefined,
  };
}

function readsValues({ inputs = [] }: { readonly inputs?: readonly string[] }): boolean {
  return inputs.includes('values');
}

type Reader = PolicyLossComponent | RegularizerComponent;

function refuseMissing({ kind, name }: AdvantageComponent | Reader, input: string, reason: string): never {
  throw new PluginError('option', `${kind} ${name} reads ${input}, which this run does not have: ${reason}`);
}

function refuseWithoutCritic(
  advantage: AdvantageComponent,
  readers: readonly Reader[],
  critic: CriticOptions | undefined,
): void {
  const reader = [advantage, ...readers].find(readsValues);
  if (reader === undefined) return;
  if (critic === undefined) refuseMissing(reader, 'values', 'no critic is trained beside the policy');
  if (advantage.givesReturns === true) return;
  refuseMissing(reader, 'values', `advantage ${advantage.name} gives no returns that a critic could learn`);
}

function refuseWithoutReturns(advantage: AdvantageComponent, reader: Reader): void {
  if (!reader.inputs.includes('returns') || advantage.givesReturns === true) return;
  refuseMissing(reader, 'returns', `advantage ${advantage.name} gives none`);
}
