import { gradients, ops, type Graph, type Value } from '@ui-rl/graph';
import type { AttentionKind, Family, ParameterSource, TrainerOptions } from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import type { BuiltObjective, Objective, TokenValues } from './objective';

export type ImageMode = 'patches' | 'features' | 'none';

/**
 * The inputs of a pass: the source of images, whether distributions may be cut, and whether sequences are packed.
 * Passes of the same mode share sessions.
 */
export type PassMode = `${ImageMode}${'' | ' cut'}${'' | ' packed'}`;

/** The image source of a mode. */
export function imagesOf(mode: PassMode): ImageMode {
  return mode.split(' ')[0] as ImageMode;
}

/** Building blocks of pass graphs. */
export interface GraphParts {
  role: LossModel;
  family: Family;
  parameters: ParameterSource;
  mode: PassMode;
  attention?: AttentionKind;
}

/** Forward pass and objective, without outputs. */
export interface ObjectiveGraph extends BuiltObjective {
  graph: Graph;
  /** [M] log-probabilities, or values of a critic */
  scores: Value;
  /** [M]; undefined for a critic */
  entropy: Value | undefined;
  /** trained weights that the graph reads */
  trained: ReadonlyMap<string, Value>;
}

/** Names of a weight's gradient in a training graph. */
export interface GradientPort {
  weight: string;
  /** input: the accumulated gradient so far, in the weight's shape */
  before: string;
  /** output: the accumulated gradient including this pass */
  after: string;
}

/** Forward pass, objective, and its derivatives by all trained weights, accumulated over passes, as one graph. */
export interface TrainingGraph {
  graph: Graph;
  gradients: readonly GradientPort[];
  /** name of a metric → name of the output with its sum */
  metrics: ReadonlyMap<string, string>;
}

export function buildObjectiveGraph(parts: GraphParts, objective: Objective): ObjectiveGraph {
  const { graph, tokens, trained } = buildModel(parts, true);
  if (tokens.role === 'critic') {
    const built = graph.scope('loss', () => objective.build(graph, tokens));
    return { graph, ...built, scores: tokens.predictions, entropy: undefined, trained };
  }
  const { logprobs } = tokens;
  const entropy = graph.scope('entropy', tokens.entropy);
  const built = graph.scope('loss', () =>
    objective.build(graph, { role: 'policy', logprobs, entropy: () => entropy }),
  );
  return { graph, ...built, scores: logprobs, entropy, trained };
}

export function buildTrainingGraph(parts: GraphParts, objective: Objective): TrainingGraph {
  const built = buildObjectiveGraph(parts, objective);
  const { graph, total, scores, entropy, trained } = built;
  graph.output('scores', scores);
  if (entropy !== undefined) graph.output('entropy', entropy);
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

/** The forward pass up to the scores of the selected tokens, without outputs. */
export function buildScoringGraph(parts: GraphParts): { graph: Graph; scores: Value } {
  const { graph, tokens } = buildModel(parts, false);
  return { graph, scores: tokens.role === 'critic' ? tokens.predictions : tokens.logprobs };
}

function buildModel(
  { role, family, parameters, mode, attention = 'whole' }: GraphParts,
  dropout: boolean,
): { graph: Graph; tokens: TokenValues; trained: ReadonlyMap<string, Value> } {
  const images = imagesOf(mode);
  const packed = mode.endsWith(' packed');
  const options: Omit<TrainerOptions, 'kind'> = { parameters, images, attention, dropout, packed };
  if (role === 'critic') {
    const { graph, values, parameterInputs } = family.buildForward({ kind: 'critic', ...options });
    return { graph, tokens: { role, predictions: values }, trained: parameterInputs };
  }
  const { graph, logProbs, entropy, parameterInputs } = family.buildForward({
    kind: 'trainer',
    truncated: mode.includes(' cut'),
    ...options,
  });
  return { graph, tokens: { role, logprobs: logProbs, entropy }, trained: parameterInputs };
}
