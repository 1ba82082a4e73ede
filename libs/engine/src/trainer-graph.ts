import { checkPolicyLoss, policyLoss, type PolicyLoss } from '@ui-rl/algorithms';
import { gradients, ops, type Graph, type Value } from '@ui-rl/graph';
import type { AttentionKind, Family, ParameterSource } from '@ui-rl/models';

export type ImageMode = 'patches' | 'features' | 'none';

/** Per-token inputs of a training graph, [M] each. */
export const TOKEN_INPUTS = ['old_logp', 'advantage', 'weight'] as const;

/** The dimension of what there is one of per trained token. */
export const TRAINED_TOKENS = 'M';

/** The gradient of the passes before: an input of its weight's shape. */
export function accumulatedName(weight: string): string {
  return `sum.${weight}`;
}

/** The gradient of this pass and those before. */
export function gradientName(weight: string): string {
  return `gradient.${weight}`;
}

/** Forward pass and loss, without outputs. */
export interface LossGraph {
  graph: Graph;
  loss: Value;
  /** [M] each */
  logp: Value;
  entropy: Value;
  /** trained weights the graph reads */
  trained: ReadonlyMap<string, Value>;
}

export function buildLossGraph(
  family: Family,
  parameters: ParameterSource,
  images: ImageMode,
  loss: PolicyLoss,
  attention: AttentionKind = 'whole',
): LossGraph {
  checkPolicyLoss(loss);
  const forward = family.buildForward({ kind: 'trainer', parameters, images, attention, dropout: true });
  const { graph, logProbs: logp } = forward;
  const entropy = graph.scope('entropy', () => forward.entropy());
  const [oldLogp, advantage, weight] = TOKEN_INPUTS.map((name) =>
    graph.input(name, 'float32', [TRAINED_TOKENS]),
  );
  const total = graph.scope('loss', () => policyLoss(loss, { logp, oldLogp, advantage, weight }));
  return { graph, loss: total, logp, entropy, trained: forward.parameterInputs };
}

/**
 * Forward pass, loss, and the derivative of the loss by every trained weight, added to what passes before gave, as one
 * graph: an input `sum.<name>` and an output `gradient.<name>` per weight.
 */
export function buildTrainingGraph(
  family: Family,
  parameters: ParameterSource,
  images: ImageMode,
  policy: PolicyLoss,
): Graph {
  const { graph, loss, logp, entropy, trained } = buildLossGraph(family, parameters, images, policy);
  graph.output('logp', logp);
  graph.output('entropy', entropy);
  graph.output('loss', loss);
  const names = [...trained.keys()];
  const derivatives = gradients(loss, [...trained.values()]);
  names.forEach((name, index) => {
    const derivative = derivatives[index];
    const before = graph.input(accumulatedName(name), derivative.dtype, derivative.shape);
    graph.output(gradientName(name), ops.add(before, derivative));
  });
  return graph;
}

/** The forward pass up to the log-probabilities of the selected tokens, without outputs. */
export function buildScoringGraph(
  family: Family,
  parameters: ParameterSource,
  images: ImageMode,
  attention: AttentionKind = 'whole',
): { graph: Graph; logp: Value } {
  const { graph, logProbs } = family.buildForward({ kind: 'trainer', parameters, images, attention });
  return { graph, logp: logProbs };
}
