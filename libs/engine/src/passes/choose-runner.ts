import { totalmem } from 'node:os';
import { extentsOf, ops, peakBytes, type Graph, type Value } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { buildTrainingGraph, type GraphParts, type PassMode } from './graphs';
import { LayerByLayer } from './layer-by-layer';
import type { TokenValues } from './objective';
import type { PassRunner, RunnerOptions } from './runner';
import { WholeGraph } from './whole-graph';

/** Whether passes run layer by layer: `auto` does so if the activations of a pass would take too much memory. */
export type GradientCheckpointing = 'auto' | 'on' | 'off';

/** The share of the machine's memory that the results of one training pass may take at once. */
export const ACTIVATION_SHARE = 1 / 8;

/** A training pass without a loss, to derive its memory. */
export function trainingShape(parts: GraphParts): Graph {
  const objective = {
    key: 'sum',
    build: (_: Graph, tokens: TokenValues) => ({
      total: ops.reduceSum(scoresOf(tokens)),
      metrics: new Map(),
    }),
  };
  return buildTrainingGraph(parts, objective).graph;
}

function scoresOf(tokens: TokenValues): Value {
  return tokens.role === 'critic' ? tokens.predictions : tokens.logprobs;
}

/** Runs each pass with the suitable runner. */
export function chooseRunner(
  options: RunnerOptions,
  checkpointing: GradientCheckpointing,
): { choose: (mode: PassMode, feeds: Feeds) => PassRunner; runners: PassRunner[] } {
  const whole = new WholeGraph(options);
  const layers = new LayerByLayer(options);
  const graphs = new Map<PassMode, Graph>();
  const fits = (mode: PassMode, feeds: Feeds): boolean => {
    let graph = graphs.get(mode);
    if (graph === undefined) {
      const { role, family, parameters } = options;
      graph = trainingShape({ role, family, parameters: parameters(), mode });
      graphs.set(mode, graph);
    }
    return peakBytes(graph, extentsOf(graph.inputs, feeds)) <= totalmem() * ACTIVATION_SHARE;
  };
  const choose = (mode: PassMode, feeds: Feeds): PassRunner => {
    const inLayers = checkpointing === 'on' || (checkpointing === 'auto' && !fits(mode, feeds));
    return inLayers ? layers : whole;
  };
  return { choose, runners: [whole, layers] };
}
