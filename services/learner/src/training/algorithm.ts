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

/** The learning options of a run, as its run file sets them. */
export interface AlgorithmOptions {
  advantage: ComponentChoice;
  loss: ComponentChoice;
  /** Terms added to the loss. */
  regularizers: readonly ComponentChoice[];
  /** Coefficient of the penalty on drift from the base model, subtracted from advantages; 0 = none. */
  klPenaltyCoef: number;
  /** Whether to compare log-probabilities before and after a step. */
  computePostKl: boolean;
  correction: ComponentChoice;
  /** Penalty on long answers; none by default. */
  overlong?: OverlongOptions | undefined;
  optimizer: ComponentChoice;
  schedule: ComponentChoice;
  aggregation: LossAggregation;
  /** The divisor of aggregation `constant`, in tokens. */
  constantTokens?: number;
  /** Learning rate at the peak of the schedule. */
  learningRate: number;
  /** Maximum gradient norm (clipping); 0 = no clipping. */
  maxGradNorm: number;
  /** Number of optimizer steps per step: its batch is split by groups. */
  substeps: number;
  /** Minimum number of passes per optimizer step. */
  minibatches: number;
  /** A critic, for components that read `values`; other runs train none. */
  critic?: CriticOptions;
}

/** The components of a run's algorithm, and their declarations. */
export interface Algorithm extends Omit<
  AlgorithmOptions,
  'advantage' | 'correction' | 'schedule' | 'critic'
> {
  advantage: Pick<AdvantageComponent, 'name' | 'inputs' | 'gives'>;
  estimator: AdvantageEstimator;
  lossComponent: PolicyLossComponent;
  /** Inputs of the loss and its regularizers. */
  lossInputs: readonly LossInput[];
  /** Whether tokens without an advantage have no gradient. */
  skipsZeroAdvantages: boolean;
  correction: Correction | null;
  schedule: Schedule;
  /** Defined if a component reads `values`. */
  critic: CriticAlgorithm | undefined;
}

/**
 * Creates the components that run here; loss and optimizer run in the engine. Throws a `PluginError` `option` if one
 * of them requires something that this run lacks.
 * @param maxSteps steps of the run, one batch each; 0 without a limit
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
