import { ops, type Value } from '@ui-rl/graph';
import type { ConfigReader } from '../../config-reader';
import { gatedMlp } from '../../nn/gated-mlp';
import type { LayerBuilder } from '../../nn/layer-builder';
import { LinearStack } from '../../nn/stack';
import type { LinearSpec } from '../base';
import { residual } from './parameters';

/** Mixture-of-experts feed-forward networks of a decoder. */
export interface MixtureConfig {
  /** the layers with experts; all others have a dense network */
  layers: ReadonlySet<number>;
  experts: number;
  /** number of experts per token */
  expertsPerToken: number;
  /** width of one expert */
  expertSize: number;
  /** whether the weights of a token's experts are normalized to sum to 1 */
  normalized: boolean;
  /** width of a shared expert that processes every token, scaled by a sigmoid gate; undefined if there is none */
  sharedSize?: number;
}

/**
 * Reads which of a decoder's layers have experts, and how many.
 * @throws ModelError naming the field if something is missing or contradictory.
 */
export function parseMixture(reader: ConfigReader): MixtureConfig {
  // transformers 5 writes the second name.
  const experts = reader.integer(reader.has('num_experts') ? 'num_experts' : 'num_local_experts');
  const expertsPerToken = reader.integer('num_experts_per_tok');
  if (expertsPerToken > experts)
    throw reader.error('num_experts_per_tok', `at most num_experts = ${experts}`);
  const step = reader.integer('decoder_sparse_step', 1);
  const dense = reader.has('mlp_only_layers') ? reader.integers('mlp_only_layers') : [];
  const layers = Array.from({ length: reader.layers('num_hidden_layers') }, (_, layer) => layer);
  return {
    layers: new Set(layers.filter((layer) => (layer + 1) % step === 0 && !dense.includes(layer))),
    experts,
    expertsPerToken,
    expertSize: reader.integer('moe_intermediate_size'),
    normalized: reader.boolean('norm_topk_prob', true),
  };
}

/** The router of a layer's network `name`, and its experts, whose gate and up projections are one weight. */
export function mixtureLinears(mixture: MixtureConfig, hiddenSize: number, name: string): LinearSpec[] {
  const { experts, expertsPerToken } = mixture;
  const stack = { count: experts, used: expertsPerToken };
  const [into, back] = sizes(mixture, hiddenSize);
  return [
    ...sharedLinears(mixture, hiddenSize, name),
    { name: `${name}.gate`, inFeatures: hiddenSize, outFeatures: experts, part: 'text', group: 'router' },
    { name: `${name}.experts.gate_up_proj`, ...into, part: 'text', group: 'experts', stack },
    residual({ name: `${name}.experts.down_proj`, ...back, part: 'text', group: 'experts', stack }),
  ];
}

/** The shared expert and its gate. */
function sharedLinears({ sharedSize: wide }: MixtureConfig, hiddenSize: number, name: string): LinearSpec[] {
  if (wide === undefined) return [];
  const linear = (part: string, inFeatures: number, outFeatures: number): LinearSpec => ({
    name: `${name}.${part}`,
    inFeatures,
    outFeatures,
    part: 'text',
    group: 'mlp',
  });
  return [
    linear('shared_expert.gate_proj', hiddenSize, wide),
    linear('shared_expert.up_proj', hiddenSize, wide),
    residual(linear('shared_expert.down_proj', wide, hiddenSize)),
    linear('shared_expert_gate', hiddenSize, 1),
  ];
}

/** The shared expert's result: sigmoid(gate(x)) · network(x), x [R, hidden] → [R, hidden]. */
function sharedExpert(build: LayerBuilder, width: number, x: Value, name: string): Value {
  const [, hidden] = x.shape as [unknown, number];
  const size = { inFeatures: hidden, width, outFeatures: hidden };
  const gate = build.linear(x, `${name}.shared_expert_gate`, {
    inFeatures: hidden,
    outFeatures: 1,
    bias: false,
  });
  return ops.mul(ops.sigmoid(gate), gatedMlp(build, x, `${name}.shared_expert`, size));
}

type Size = Pick<LinearSpec, 'inFeatures' | 'outFeatures'>;

function sizes({ expertSize }: MixtureConfig, hiddenSize: number): [into: Size, back: Size] {
  return [
    { inFeatures: hiddenSize, outFeatures: 2 * expertSize },
    { inFeatures: expertSize, outFeatures: hiddenSize },
  ];
}

/** The experts of each token, int64 [R, k], and their weights, [R, k]. */
interface Routes {
  experts: Value;
  weights: Value;
}

function route(build: LayerBuilder, mixture: MixtureConfig, x: Value, name: string): Routes {
  const [, inFeatures] = x.shape as [unknown, number];
  const size = { inFeatures, outFeatures: mixture.experts, bias: false };
  const shares = ops.softmax(build.linear(x, `${name}.gate`, size), 1);
  const { values, indices } = ops.topK(shares, mixture.expertsPerToken);
  const weights = mixture.normalized ? ops.div(values, ops.reduceSum(values, [1], true)) : values;
  return { experts: indices, weights };
}

/** Tokens sorted by expert. */
interface Dispatched {
  /** [k·R, hidden]: the first expert's tokens, then the second's, … */
  rows: Value;
  groups: ops.RowGroups;
  /** int64 [k·R]: position in `rows` for each expert of each token, token by token */
  positions: Value;
}

function dispatch(x: Value, experts: Value, { experts: count, expertsPerToken }: MixtureConfig): Dispatched {
  const flat = ops.reshape(experts, [-1]);
  const order = ops.argSort(flat);
  return {
    rows: ops.gatherEvenly(x, ops.div(order, expertsPerToken)),
    groups: ops.rowGroups(ops.countEach(flat, count)),
    positions: ops.inversePermutation(order),
  };
}

/** Applies the experts to their rows, [k·R, hidden] → [k·R, hidden]. */
function compute(
  build: LayerBuilder,
  mixture: MixtureConfig,
  rows: Value,
  groups: ops.RowGroups,
  name: string,
): Value {
  const { experts, expertSize } = mixture;
  const [, hiddenSize] = rows.shape as [unknown, number];
  const [into, back] = sizes(mixture, hiddenSize);
  const gateUp = new LinearStack(build, `${name}.experts.gate_up_proj`, experts, into);
  const down = new LinearStack(build, `${name}.experts.down_proj`, experts, back);
  const activate = (wide: Value): Value => {
    const [gate, up] = ops.split(wide, [expertSize, expertSize], 1);
    return ops.mul(ops.silu(gate), up);
  };
  // Converting an expert takes longer than computing a few rows. Without conversion, unrolled products are faster
  // than a loop.
  const isConverted = gateUp.isConverted || down.isConverted;
  if (gateUp.isPacked || down.isPacked || (build.fewRows && isConverted)) {
    return ops.groupedLazily(rows, groups, hiddenSize, (x, expert) =>
      down.one(activate(gateUp.one(x, expert)), expert),
    );
  }
  return down.grouped(activate(gateUp.grouped(rows, groups)), groups);
}

/** Σ weight · result over the experts of each token: [k·R, hidden] → [R, hidden]. */
function combine(results: Value, positions: Value, weights: Value): Value {
  const [rows, k] = weights.shape;
  const [, width] = results.shape;
  const byToken = ops.reshape(ops.gatherEvenly(results, positions), [rows, k, width]);
  return ops.reshape(ops.matmul(ops.reshape(weights, [rows, 1, k]), byToken), [rows, width]);
}

/**
 * A mixture of gated feed-forward networks, Σ weight · down(silu(gate(x)) · up(x)) over the k experts that a router
 * selects for each token (arXiv:1701.06538, section 2; the weights are a softmax over all experts): x [R, hidden] →
 * [R, hidden]. Tokens are sorted by expert, so that each expert is one product over its tokens, and is skipped
 * without tokens. The result of a shared expert is added.
 */
export function mixtureOfExperts(build: LayerBuilder, mixture: MixtureConfig, x: Value, name: string): Value {
  const { experts, weights } = build.graph.scope('router', () => route(build, mixture, x, name));
  const { rows, groups, positions } = build.graph.scope('dispatch', () => dispatch(x, experts, mixture));
  const results = build.graph.scope('experts', () => compute(build, mixture, rows, groups, name));
  const combined = build.graph.scope('combine', () => combine(results, positions, weights));
  const { sharedSize } = mixture;
  if (sharedSize === undefined) return combined;
  return ops.add(
    combined,
    build.graph.scope('shared_expert', () => sharedExpert(build, sharedSize, x, name)),
  );
}
