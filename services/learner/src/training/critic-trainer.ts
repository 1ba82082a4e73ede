import { mean } from '@ui-rl/algorithms';
import type { Turn } from '@ui-rl/contracts';
import type { Engine, PolicyLossComponent } from '@ui-rl/plugin-kit';
import type { CriticGroup } from '@ui-rl/settings';
import { CRITIC } from '../checkpoints/run-models';
import type { PerTurn } from './experience';
import { engineMetrics } from './step-metrics';
import { atSampledTokens, toScore, toTrain, type TrainedTurn, type TurnSequence } from './turn-data';

export interface CriticAlgorithm {
  options: Readonly<CriticGroup>;
  lossComponent: PolicyLossComponent;
}

/** The critic of a run: its values of states, and its optimizer steps, as many as the policy's. */
export class CriticTrainer {
  constructor(
    private readonly engine: Engine,
    private readonly critic: CriticAlgorithm,
    private readonly minibatches: number,
  ) {}

  /** Values of the states in which the tokens of each turn were sampled. */
  async values(sequences: readonly TurnSequence[]): Promise<PerTurn> {
    if (sequences.length === 0) return new Map();
    const { values } = await this.engine.forward({ model: CRITIC, data: sequences.map(toScore) });
    return new Map(
      sequences.map((sequence, index) => [sequence.turn, atSampledTokens(sequence, values![index])]),
    );
  }

  /** One optimizer step. @returns metrics as `critic/<name>` */
  async step(part: readonly TrainedTurn[]): Promise<Record<string, number>> {
    const { options, lossComponent } = this.critic;
    const { loss, optimizer, learning_rate: learningRate, max_grad_norm: maxGradNorm } = options;
    const { inputs, scope } = lossComponent;
    const passes = await this.engine.forwardBackward({
      model: CRITIC,
      data: part.map((turn) => toTrain(turn, inputs, scope)),
      loss,
      minPasses: this.minibatches,
    });
    const updated = await this.engine.optimStep({ model: CRITIC, optimizer, learningRate, maxGradNorm });
    return { ...engineMetrics({ ...passes.metrics, ...updated.metrics }, CRITIC), 'critic/lr': learningRate };
  }
}

/**
 * Compares a critic's values of a batch with the returns. The explained variance is 1 − Var(R − V) / Var(R): 1 if
 * values equal the returns, 0 if they are no better than a constant, negative if they are worse; absent if all
 * returns are equal.
 */
export function valueMetrics(values: PerTurn, returns: PerTurn): Record<string, number> {
  const turns = [...returns.keys()];
  const all = (numbers: PerTurn): number[] => turns.flatMap((turn: Turn) => [...(numbers.get(turn) ?? [])]);
  const [said, earned] = [all(values), all(returns)];
  const spread = variance(earned);
  const errors = earned.map((each, token) => each - said[token]);
  return {
    'critic/value_mean': mean(said),
    'critic/return_mean': mean(earned),
    ...(spread > 0 ? { 'critic/explained_variance': 1 - variance(errors) / spread } : {}),
  };
}

function variance(numbers: readonly number[]): number {
  const centre = mean(numbers);
  return mean(numbers.map((number) => (number - centre) ** 2));
}
