import { ops, type Value } from '@ui-rl/graph';
import { chunkedDelta, DELTA_CHUNK, type SharedStart } from '../../nn/gated-delta';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { LinearSpec, ParameterSpec } from '../base';
import { residual } from './parameters';

/** Added to the squared norms of queries and keys before normalization. */
const normEps = 1e-6;

/** The decoder layers whose attention is a gated delta rule (arXiv:2412.06464) after a causal convolution. */
export interface LinearAttentionConfig {
  /** all other layers have softmax attention */
  layers: ReadonlySet<number>;
  /** query and key heads; divides `heads`, because each serves several value heads */
  keyHeads: number;
  /** value heads */
  heads: number;
  keyDim: number;
  valueDim: number;
  /** kernel size of the convolution in tokens */
  kernel: number;
}

/** Trainer sequences are padded to a multiple of this number of tokens. */
export const LINEAR_ATTENTION_STEP = DELTA_CHUNK;

/** Channels of the convolution: queries, keys and values concatenated. */
export function convolvedSize({ keyHeads, heads, keyDim, valueDim }: LinearAttentionConfig): number {
  return 2 * keyHeads * keyDim + heads * valueDim;
}

/** Total size of all value heads. */
export function valueSize({ heads, valueDim }: LinearAttentionConfig): number {
  return heads * valueDim;
}

/** The linear layers of a linear-attention module `name`. */
export function linearAttentionLinears(
  config: LinearAttentionConfig,
  hiddenSize: number,
  name: string,
): LinearSpec[] {
  const { heads } = config;
  const into = (projection: string, outFeatures: number): LinearSpec => ({
    name: `${name}.${projection}`,
    inFeatures: hiddenSize,
    outFeatures,
    part: 'text',
    group: 'attention',
  });
  const out = {
    inFeatures: valueSize(config),
    outFeatures: hiddenSize,
    part: 'text',
    group: 'attention',
  } as const;
  return [
    into('in_proj_qkv', convolvedSize(config)),
    into('in_proj_z', valueSize(config)),
    into('in_proj_b', heads),
    into('in_proj_a', heads),
    residual({ name: `${name}.out_proj`, ...out }),
  ];
}

/** Its weights other than those of linear layers. */
export function linearAttentionParameters(config: LinearAttentionConfig, name: string): ParameterSpec[] {
  const { heads, valueDim, kernel } = config;
  return [
    { name: `${name}.conv1d.weight`, shape: [convolvedSize(config), 1, kernel], initial: 'normal' },
    { name: `${name}.A_log`, shape: [heads], initial: 'decays' },
    { name: `${name}.dt_bias`, shape: [heads], initial: 'ones' },
    { name: `${name}.norm.weight`, shape: [valueDim], initial: 'ones' },
  ];
}

/** Operands of the delta rule with concatenated heads: see `DeltaInputs`. */
export interface PackedDelta {
  /** [B, T, keyHeads · dk] */
  q: Value;
  k: Value;
  /** [B, T, heads · dv] */
  v: Value;
  /** [B, T, heads] */
  decay: Value;
  beta: Value;
}

/** Passes states through a sequence. */
export interface Recurrence {
  /** silu of the causal convolution: x [B, T, C], weight [C, 1, kernel] → [B, T, C] */
  convolve(layer: number, x: Value, weight: Value): Value;
  /** → [B, T, heads · dv] */
  recur(layer: number, inputs: PackedDelta): Value;
}

/**
 * silu of Σⱼ weight[:, j] · x shifted by j tokens, in differentiable operations. For more than one token twice as fast
 * on CPUs as `ops.causalConvolution`.
 * @param past [B, kernel-1, C] inputs before the first token; default: zeros
 */
export function convolveWhole(x: Value, weight: Value, past?: Value): Value {
  const [B, T, C] = x.shape;
  const K = Number(weight.shape[2]);
  const padded = ops.concat([past ?? ops.full(x.graph, [B, K - 1, C], 0), x], 1);
  const taps = ops.split(ops.transpose(ops.reshape(weight, [C, K])), Array<number>(K).fill(1), 0);
  const shifted = taps.map((tap, j) => ops.mul(ops.slice(padded, 1, j, `${T}+${j}`), tap));
  return ops.silu(shifted.reduce((a, b) => ops.add(a, b)));
}

/** Where the sequences of packs lie in their rows: each begins at a multiple of {@link LINEAR_ATTENTION_STEP}. */
export interface PackPlaces {
  /** int64 [B, 1] number of tokens that the sequences of a row share */
  shared: Value;
  /** int64 [B, T] index of the first token of each token's sequence after the shared ones */
  starts: Value;
}

/** How the n chunks of each of B rows follow each other. */
interface PackChunks extends SharedStart {
  /** int64 [B·n] the chunk before each one in its sequence, among the B·n; any number if there is none */
  before: Value;
  /** bool [B·n, 1, 1] whether there is one */
  hasBefore: Value;
}

function packChunks({ shared, starts }: PackPlaces): PackChunks {
  const { graph } = shared;
  const C = LINEAR_ATTENTION_STEP;
  const [B] = starts.shape;
  const firsts = ops.squeeze(ops.slice(ops.reshape(starts, [B, -1, C]), 2, 0, 1), [2]);
  const n = firsts.shape[1];
  const order = ops.range(graph, n);
  const continues = ops.equal(firsts, ops.mul(order, C));
  const before = ops.sub(ops.where(continues, ops.div(shared, C), order), 1);
  const rows = ops.mul(ops.unsqueeze(ops.range(graph, B), [1]), ops.dimValue(graph, n));
  return {
    continues,
    ends: ops.equal(shared, ops.mul(ops.add(order, 1), C)),
    before: ops.reshape(ops.add(rows, ops.max(before, 0)), [-1]),
    hasBefore: ops.reshape(ops.greaterOrEqual(before, 0), [-1, 1, 1]),
  };
}

/** silu of the causal convolution of packs, see {@link Recurrence.convolve}. */
function convolvePacks(x: Value, weight: Value, { before, hasBefore }: PackChunks): Value {
  const [, , C] = x.shape;
  const K = Number(weight.shape[2]);
  const chunks = ops.reshape(x, [-1, LINEAR_ATTENTION_STEP, C]);
  const ends = ops.slice(chunks, 1, LINEAR_ATTENTION_STEP - K + 1);
  const past = ops.where(hasBefore, ops.gather(ends, before), 0);
  return ops.reshape(convolveWhole(chunks, weight, past), x.shape);
}

/**
 * Computes states over whole sequences, whose length is a multiple of {@link LINEAR_ATTENTION_STEP}.
 * @param packs default: each row is one sequence
 */
export function wholeRecurrence(
  { keyHeads, heads, keyDim, valueDim }: LinearAttentionConfig,
  packs?: PackPlaces,
): Recurrence {
  const chunks = packs && packChunks(packs);
  return {
    convolve: (_, x, weight) =>
      chunks === undefined ? convolveWhole(x, weight) : convolvePacks(x, weight, chunks),
    recur: (_, { q, k, v, decay, beta }) => {
      const byHead = (x: Value, count: number, width: number): Value =>
        ops.reshape(x, [x.shape[0], x.shape[1], count, width]);
      const [queries, keys] = [q, k].map((x) => byHead(x, keyHeads, keyDim));
      const operands = { q: queries, k: keys, v: byHead(v, heads, valueDim), decay, beta };
      return ops.reshape(chunkedDelta(operands, chunks), v.shape);
    },
  };
}

/** Parameters of a layer's attention besides its input. */
export interface LinearAttentionRun {
  /** its index, and the module that holds its weights */
  layer: number;
  name: string;
  /** B and T */
  rows: Value['shape'];
  recurrence: Recurrence;
  normEps: number;
}

/** Queries or keys, normalized to `length` per head. */
function unit(x: Value, { keyHeads, keyDim }: LinearAttentionConfig, length: number): Value {
  const scale = new Float32Array(keyDim).fill(length / Math.sqrt(keyDim));
  const byHead = ops.reshape(x, [x.shape[0], x.shape[1], keyHeads, keyDim]);
  const normed = ops.rmsNorm(byHead, x.graph.constant('float32', [keyDim], scale), normEps / keyDim);
  return ops.reshape(normed, x.shape);
}

/** Attention with a state of fixed size: x [B·T, hidden] → the output projection's input, [B·T, heads · dv]. */
export function linearAttention(
  build: LayerBuilder,
  config: LinearAttentionConfig,
  x: Value,
  { layer, name, rows, recurrence, normEps: eps }: LinearAttentionRun,
): Value {
  const { keyHeads, heads, keyDim, valueDim, kernel } = config;
  const [, inFeatures] = x.shape as [unknown, number];
  const project = (projection: string, outFeatures: number): Value =>
    build.linear(x, `${name}.${projection}`, { inFeatures, outFeatures, bias: false });
  const byToken = (value: Value): Value => ops.reshape(value, [...rows, value.shape[1]]);
  const channels = convolvedSize(config);
  const weight = build.weight(`${name}.conv1d.weight`, [channels, 1, kernel]);
  const mixed = recurrence.convolve(layer, byToken(project('in_proj_qkv', channels)), weight);
  const keys = keyHeads * keyDim;
  const [q, k, v] = ops.split(mixed, [keys, keys, valueSize(config)], 2);
  const rate = ops.exp(build.weight(`${name}.A_log`, [heads]));
  const shifted = ops.add(project('in_proj_a', heads), build.weight(`${name}.dt_bias`, [heads]));
  const answers = recurrence.recur(layer, {
    q: unit(q, config, keyDim ** -0.5),
    k: unit(k, config, 1),
    v,
    decay: byToken(ops.neg(ops.mul(ops.softplus(shifted), rate))),
    beta: byToken(ops.sigmoid(project('in_proj_b', heads))),
  });
  const byHead = ops.reshape(answers, [-1, valueDim]);
  const normed = build.rmsNorm(byHead, `${name}.norm`, valueDim, eps);
  const gate = ops.silu(project('in_proj_z', valueSize(config)));
  return ops.mul(ops.reshape(normed, gate.shape), gate);
}
