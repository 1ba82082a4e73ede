import { totalmem } from 'node:os';
import { activationBytes, extentsOf, type Graph } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { buildScoringGraph, type PassMode } from './graphs';
import { LayerByLayer } from './layer-by-layer';
import type { PassRunner, RunnerOptions } from './runner';
import { WholeGraph } from './whole-graph';

/** Whether passes run layer by layer: `auto` does so if the activations of a pass would take too much memory. */
export type GradientCheckpointing = 'auto' | 'on' | 'off';

/** The share of the machine's memory that the activations of one pass may take. */
export const ACTIVATION_SHARE = 1 / 8;

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
      ({ graph } = buildScoringGraph({ role, family, parameters: parameters(), mode }));
      graphs.set(mode, graph);
    }
    return activationBytes(graph, extentsOf(graph.inputs, feeds)) <= totalmem() * ACTIVATION_SHARE;
  };
  const choose = (mode: PassMode, feeds: Feeds): PassRunner => {
    const inLayers = checkpointing === 'on' || (checkpointing === 'auto' && !fits(mode, feeds));
    return inLayers ? layers : whole;
  };
  return { choose, runners: [whole, layers] };
}
