import { checkPolicyLoss, policyLoss, type PolicyLoss } from '@ui-rl/algorithms';
import { gradients, ops, type Graph } from '@ui-rl/graph';
import type { Family, ParameterSource, TrainerForward } from '@ui-rl/models';

export type ImageMode = 'patches' | 'features' | 'none';

/** Per-token inputs of a training graph, [M] each. */
export const TOKEN_INPUTS = ['old_logp', 'advantage', 'weight'] as const;

export interface TrainingGraph {
  graph: Graph;
  /** Trained weights the graph reads; each has an input `sum.<name>` and an output `gradient.<name>`. */
  trained: string[];
}

/** The gradient of the passes before: an input of its weight's shape. */
export function sumName(weight: string): string {
  return `sum.${weight}`;
}

/** The gradient of this pass and those before. */
export function gradientName(weight: string): string {
  return `gradient.${weight}`;
}

/**
 * Forward pass, loss, and the derivative of the loss by every trained weight, added to what passes before gave, as one
 * graph.
 */
export function buildTrainingGraph(
  family: Family,
  parameters: ParameterSource,
  images: ImageMode,
  loss: PolicyLoss,
): TrainingGraph {
  checkPolicyLoss(loss);
  const forward = family.buildForward({ kind: 'trainer', parameters, images });
  const { graph, logProbs } = forward;
  addTokenOutputs(forward);
  const [oldLogp, advantage, weight] = TOKEN_INPUTS.map((name) => graph.input(name, 'float32', ['M']));
  const total = graph.scope('loss', () => policyLoss(loss, { logp: logProbs, oldLogp, advantage, weight }));
  graph.output('loss', total);
  const trained = [...forward.parameterInputs.keys()];
  const derivatives = gradients(
    total,
    trained.map((name) => forward.parameterInputs.get(name)!),
  );
  trained.forEach((name, index) => {
    const derivative = derivatives[index];
    const before = graph.input(sumName(name), derivative.dtype, derivative.shape);
    graph.output(gradientName(name), ops.add(before, derivative));
  });
  return { graph, trained };
}

/** Only the log-probabilities of the selected tokens, without gradients. */
export function buildScoringGraph(family: Family, parameters: ParameterSource, images: ImageMode): Graph {
  const forward = family.buildForward({ kind: 'trainer', parameters, images });
  forward.graph.output('logp', forward.logProbs);
  return forward.graph;
}

function addTokenOutputs({ graph, logProbs, entropy }: TrainerForward): void {
  graph.output('logp', logProbs);
  graph.output(
    'entropy',
    graph.scope('entropy', () => entropy()),
  );
}
