import { totalmem } from 'node:os';
import { activationBytes, extentsOf, type Graph } from '@ui-rl/graph';
import { LayerByLayer } from './layer-by-layer';
import type { Feeds, PassRunner } from './pass-runner';
import { buildScoringGraph, type ImageMode } from './trainer-graph';
import { WholeGraph, type RunnerOptions } from './whole-graph';

/** Whether passes run layer by layer: `auto` where the activations of a pass would take too much memory. */
export type GradientCheckpointing = 'auto' | 'on' | 'off';

/** The share of the machine's memory that activations of one pass may take. */
export const ACTIVATION_SHARE = 1 / 8;

/** Runners of passes, and which of them a pass is for. */
export function chooseRunner(
  options: RunnerOptions,
  checkpointing: GradientCheckpointing,
): { choose: (mode: ImageMode, feeds: Feeds) => PassRunner; runners: PassRunner[] } {
  const whole = new WholeGraph(options);
  const layers = new LayerByLayer(options);
  const graphs = new Map<ImageMode, Graph>();
  const fits = (mode: ImageMode, feeds: Feeds): boolean => {
    let graph = graphs.get(mode);
    if (graph === undefined) {
      ({ graph } = buildScoringGraph(options.family, options.parameters(), mode));
      graphs.set(mode, graph);
    }
    return activationBytes(graph, extentsOf(graph.inputs, feeds)) <= totalmem() * ACTIVATION_SHARE;
  };
  const choose = (mode: ImageMode, feeds: Feeds): PassRunner => {
    const inLayers = checkpointing === 'on' || (checkpointing === 'auto' && !fits(mode, feeds));
    return inLayers ? layers : whole;
  };
  return { choose, runners: [whole, layers] };
}
