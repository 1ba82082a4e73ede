import { gradients, ops, type Graph, type Value } from '@ui-rl/graph';
import type { AttentionKind, Family, ParameterSource } from '@ui-rl/models';
import type { BuiltObjective, Objective } from './objective';

export type ImageMode = 'patches' | 'features' | 'none';

/** What is built into the graphs of passes. */
export interface GraphParts {
  family: Family;
  parameters: ParameterSource;
  images: ImageMode;
  attention?: AttentionKind;
}

/** Forward pass and objective, without outputs. */
export interface ObjectiveGraph extends BuiltObjective {
  graph: Graph;
  /** [M] each */
  logprobs: Value;
  entropy: Value;
  /** trained weights the graph reads */
  trained: ReadonlyMap<string, Value>;
}

/** Names that a training graph has for the gradient of a weight. */
export interface GradientPort {
  weight: string;
  /** input: the gradient of the passes before, of the weight's shape */
  before: string;
  /** output: that of this pass and those before */
  after: string;
}

/** Forward pass, objective, and the derivative by every trained weight, added to what passes before gave, as one graph. */
export interface TrainingGraph {
  graph: Graph;
  gradients: readonly GradientPort[];
  /** name of a metric → name of the output that has its sum */
  metrics: ReadonlyMap<string, string>;
}

export function buildObjectiveGraph(
  { family, parameters, images, attention = 'whole' }: GraphParts,
  objective: Objective,
): ObjectiveGraph {
  const forward = family.buildForward({ kind: 'trainer', parameters, images, attention, dropout: true });
  const { graph, logProbs: logprobs } = forward;
  const entropy = graph.scope('entropy', () => forward.entropy());
  const built = graph.scope('loss', () => objective.build(logprobs, () => entropy));
  return { graph, ...built, logprobs, entropy, trained: forward.parameterInputs };
}

export function buildTrainingGraph(parts: GraphParts, objective: Objective): TrainingGraph {
  const built = buildObjectiveGraph(parts, objective);
  const { graph, total, logprobs, entropy, trained } = built;
  graph.output('logprobs', logprobs);
  graph.output('entropy', entropy);
  graph.output('total', total);
  const metrics = new Map<string, string>();
  for (const [name, value] of built.metrics) {
    const output = `metric ${name}`;
    graph.output(output, value);
    metrics.set(name, output);
  }
  const derivatives = gradients(total, [...trained.values()]);
  const ports = [...trained.keys()].map((weight, index): GradientPort => {
    const derivative = derivatives[index];
    const before = graph.input(`gradient before/${weight}`, derivative.dtype, derivative.shape);
    const after = `gradient/${weight}`;
    graph.output(after, ops.add(before, derivative));
    return { weight, before: before.name, after };
  });
  return { graph, gradients: ports, metrics };
}

/** The forward pass up to the log-probabilities of the selected tokens, without outputs. */
export function buildScoringGraph({ family, parameters, images, attention = 'whole' }: GraphParts): {
  graph: Graph;
  logprobs: Value;
} {
  const { graph, logProbs } = family.buildForward({ kind: 'trainer', parameters, images, attention });
  return { graph, logprobs: logProbs };
}
