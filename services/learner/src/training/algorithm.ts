import {
  PluginError,
  type AdvantageComponent,
  type AdvantageEstimator,
  type ComponentRegistry,
  type Correction,
  type LossInput,
  type PolicyLossComponent,
  type RegularizerComponent,
  type Schedule,
} from '@ui-rl/plugin-kit';
import type { AlgorithmGroup, RunFile, TrainingGroup } from '@ui-rl/settings';
import type { CriticAlgorithm } from './critic-trainer';
import { withOverlongPenalty } from './overlong';
import { withSuccessReplay } from './success-replay';

/** The groups of a run file that decide how a policy learns. */
export type LearningOptions = Pick<RunFile, 'algorithm' | 'critic' | 'training' | 'rollout'>;

/** The components of a run's algorithm, and the options that its steps read. */
export interface Algorithm {
  options: Readonly<AlgorithmGroup>;
  training: Readonly<TrainingGroup>;
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
 */
export function makeAlgorithm(
  { algorithm: options, critic, training, rollout }: LearningOptions,
  components: ComponentRegistry,
): Algorithm {
  const advantage = components.get('advantage', options.advantage.name);
  const lossComponent = components.get('policy-loss', options.loss.name);
  const regularizers = options.regularizers.map(({ name }) => components.get('regularizer', name));
  const readers = [lossComponent, ...regularizers];
  for (const each of [advantage, ...readers])
    if (readsValues(each)) assertGivesReturns(advantage, each, 'values');
  for (const each of readers)
    if (each.inputs.includes('returns')) assertGivesReturns(advantage, each, 'returns');
  const created = components.create('advantage', options.advantage, {});
  const estimator =
    options.replayed_successes === 0 ? created : withSuccessReplay(created, options.replayed_successes);
  return {
    ...{ options, training, advantage, lossComponent },
    lossInputs: [...new Set(readers.flatMap(({ inputs }) => inputs))],
    skipsZeroAdvantages: lossComponent.skipsZeroAdvantages === true && regularizers.length === 0,
    estimator:
      options.overlong_buffer === 0 ? estimator : withOverlongPenalty(estimator, options, rollout.max_tokens),
    correction: components.create('correction', options.correction, {}),
    schedule: components.create('schedule', training.schedule, { totalSteps: training.max_steps }),
    critic: [advantage, ...readers].some(readsValues)
      ? { options: critic, lossComponent: components.get('policy-loss', critic.loss.name) }
      : undefined,
  };
}

function readsValues({ inputs = [] }: { readonly inputs?: readonly string[] }): boolean {
  return inputs.includes('values');
}

function assertGivesReturns(
  advantage: AdvantageComponent,
  { kind, name }: AdvantageComponent | PolicyLossComponent | RegularizerComponent,
  input: 'values' | 'returns',
): void {
  if (advantage.givesReturns === true) return;
  const reason = input === 'values' ? 'no returns that a critic could learn' : 'none';
  throw new PluginError(
    'option',
    `${kind} ${name} reads ${input}, which this run does not have: advantage ${advantage.name} gives ${reason}`,
  );
}
