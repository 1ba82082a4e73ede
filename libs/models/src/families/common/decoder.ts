import { ops, type Value } from '@ui-rl/graph';
import { gatedMlp } from '../../nn/gated-mlp';
import type { LayerBuilder } from '../../nn/layer-builder';
import { decoderLayer, hasKeys, layerNorms, queryOutputs, type DecoderConfig } from './decoder-config';
import { linearAttention, valueSize, type Recurrence } from './linear-attention';
import { mixtureOfExperts } from './mixture';
import type { VisionFeatures } from './model';

/** Rotated queries [B, T, heads · headDim], rotated keys and values [B, T, kvHeads · headDim] of one layer. */
export interface Projections {
  q: Value;
  k: Value;
  v: Value;
}

/** Computes a layer's context [B, T, heads · headDim] from its projections. */
export type Attention = (layer: number, projections: Projections) => Value;

/** Inputs of the decoder: B rows of T tokens. */
export interface TextInputs {
  /** int64 [B, T] */
  tokenIds: Value;
  /** [B, T, rotaryDim / 2] */
  cos: Value;
  sin: Value;
  /** the same for layers with sliding windows */
  windowCos?: Value;
  windowSin?: Value;
  images?: ImageRows;
}

/** Marks image placeholders and selects the features that replace them. */
export interface ImageRows {
  /** float [B, T] 1 for text, 0 for placeholders */
  textMask: Value;
  /** int64 [B, T] feature row of each placeholder; the number of rows for text */
  rows: Value;
  features: VisionFeatures;
}

/** Run options of the decoder. */
export interface TextRun {
  attention: Attention;
  /** passes states of linear attention through the rows, if there are such layers */
  recurrence?: Recurrence | undefined;
  /** keeps the positions that are needed after the last layer's attention: [B·T, x] → [M, x] */
  select: (x: Value) => Value;
}

/** Looks up each token's features, with a row of zeros appended for text: [B·T, hidden]. */
function lookUp(features: Value, rows: Value): Value {
  const zero = ops.full(features.graph, [1, features.shape[1]], 0);
  return ops.gather(ops.concat([features, zero], 0), ops.reshape(rows, [-1]), 0);
}

/** Hidden states have one row per token, [B·T, hidden], the layout of linear layers. */
function embed(build: LayerBuilder, text: DecoderConfig, { tokenIds, images }: TextInputs): Value {
  const table = `${text.prefix}.embed_tokens.weight`;
  const looked = build.embedding(table, [text.vocabSize, text.hiddenSize], ops.reshape(tokenIds, [-1]));
  const tokens = text.embeddingScale === undefined ? looked : ops.mul(looked, text.embeddingScale);
  if (images === undefined) return tokens;
  const kept = ops.mul(tokens, ops.reshape(images.textMask, [-1, 1]));
  return ops.add(kept, lookUp(images.features.features, images.rows));
}

/** RMS norm `name` of the decoder. */
function textNorm(build: LayerBuilder, text: DecoderConfig, x: Value, name: string, size: number): Value {
  if (text.normsAddToOne !== true) return build.rmsNorm(x, name, size, text.normEps);
  return ops.rmsNorm(x, ops.add(build.weight(`${name}.weight`, [size]), 1), text.normEps);
}

/** Projections of one layer, and the gate [B·T, heads · headDim] of its attention result. */
interface GatedProjections extends Projections {
  gate: Value | undefined;
}

function project(
  build: LayerBuilder,
  text: DecoderConfig,
  x: Value,
  layer: number,
  name: string,
  inputs: TextInputs,
): GatedProjections {
  const { hiddenSize: inFeatures, headDim, qkvBias: bias } = text;
  const [rows] = x.shape;
  const isLocal = text.window?.layers.has(layer) === true;
  const [cos, sin] = isLocal ? [inputs.windowCos!, inputs.windowSin!] : [inputs.cos, inputs.sin];
  const byToken = (value: Value, heads: number): Value =>
    ops.reshape(value, [...inputs.tokenIds.shape, heads * headDim]);
  const linear = (projection: string, outFeatures: number): Value =>
    build.linear(x, `${name}.${projection}`, { inFeatures, outFeatures, bias });
  const rotated = (projected: Value, norm: string, heads: number): Value => {
    const byHead = (): Value => ops.reshape(projected, [rows, heads, headDim]);
    const normed = text.qkNorm ? textNorm(build, text, byHead(), `${name}.${norm}`, headDim) : projected;
    return ops.rotary(byToken(normed, heads), cos, sin, heads);
  };
  const { queries, gate } = ungated(text, linear('q_proj', queryOutputs(text)));
  return {
    q: scaledQueries(text, rotated(queries, 'q_norm', text.heads)),
    k: rotated(linear('k_proj', text.kvHeads * headDim), 'k_norm', text.kvHeads),
    v: byToken(linear('v_proj', text.kvHeads * headDim), text.kvHeads),
    gate,
  };
}

/** Attention scales scores by headDim^-0.5; queries make up for another scale. */
function scaledQueries({ queryScalar, headDim }: DecoderConfig, q: Value): Value {
  if (queryScalar === undefined || queryScalar === headDim) return q;
  return ops.mul(q, (headDim / queryScalar) ** 0.5);
}

/** Splits queries [R, heads · headDim] from the gates that follow those of each head. */
function ungated(
  { heads, headDim, outputGate }: DecoderConfig,
  projected: Value,
): { queries: Value; gate: Value | undefined } {
  if (outputGate !== true) return { queries: projected, gate: undefined };
  const [rows] = projected.shape;
  const byHead = ops.reshape(projected, [rows, heads, 2 * headDim]);
  const [queries, gate] = ops
    .split(byHead, [headDim, headDim], 2)
    .map((half) => ops.reshape(half, [rows, heads * headDim]));
  return { queries, gate };
}

/** The feed-forward network of a layer, dense or a mixture of experts. */
function feedForward(build: LayerBuilder, text: DecoderConfig, x: Value, layer: number, name: string): Value {
  const { hiddenSize, intermediateSize: width, mixture, activation } = text;
  if (mixture?.layers.has(layer) === true) return mixtureOfExperts(build, mixture, x, name);
  return gatedMlp(build, x, name, { inFeatures: hiddenSize, width, outFeatures: hiddenSize, activation });
}

/** The attention result [B·T, inFeatures], and its output projection. */
interface Mixed {
  value: Value;
  projection: string;
  inFeatures: number;
  bias: boolean;
}

function softmaxAttention(
  build: LayerBuilder,
  text: DecoderConfig,
  x: Value,
  layer: number,
  inputs: TextInputs,
  attention: Attention,
): Mixed {
  const name = `${decoderLayer(text, layer)}.self_attn`;
  const value = build.graph.scope('self_attn', () => {
    const { gate, ...projections } = project(build, text, x, layer, name, inputs);
    const context = ops.flattenRows(attention(layer, projections));
    return gate === undefined ? context : ops.mul(context, ops.sigmoid(gate));
  });
  const inFeatures = text.heads * text.headDim;
  return { value, projection: `${name}.o_proj`, inFeatures, bias: text.outputBias };
}

function stateAttention(
  build: LayerBuilder,
  text: DecoderConfig,
  x: Value,
  layer: number,
  inputs: TextInputs,
  recurrence: Recurrence,
): Mixed {
  const config = text.linearAttention!;
  const name = `${decoderLayer(text, layer)}.linear_attn`;
  const run = { layer, name, rows: inputs.tokenIds.shape, recurrence, normEps: text.normEps };
  const value = build.graph.scope('linear_attn', () => linearAttention(build, config, x, run));
  return { value, projection: `${name}.out_proj`, inFeatures: valueSize(config), bias: false };
}

/** One decoder layer; `select` drops positions as soon as attention no longer needs them. */
function buildLayer(
  build: LayerBuilder,
  text: DecoderConfig,
  x: Value,
  layer: number,
  inputs: TextInputs,
  { attention, recurrence, select }: TextRun,
): Value {
  const name = decoderLayer(text, layer);
  return build.graph.scope(`layers.${layer}`, () => {
    const normed = textNorm(build, text, x, `${name}.input_layernorm`, text.hiddenSize);
    const { value, projection, ...size } = hasKeys(text, layer)
      ? softmaxAttention(build, text, normed, layer, inputs, attention)
      : stateAttention(build, text, normed, layer, inputs, recurrence!);
    const outFeatures = text.hiddenSize;
    const result = (y: Value, norm: string): Value =>
      text.normsResults === true ? textNorm(build, text, y, `${name}.${norm}`, outFeatures) : y;
    const projected = build.linear(select(value), projection, { ...size, outFeatures });
    const attended = ops.add(select(x), result(projected, 'post_attention_layernorm'));
    const second = textNorm(build, text, attended, `${name}.${layerNorms(text).mlp}`, text.hiddenSize);
    const fed = build.graph.scope('mlp', () => feedForward(build, text, second, layer, `${name}.mlp`));
    return ops.add(attended, result(fed, 'post_feedforward_layernorm'));
  });
}

/** The decoder: normalized hidden states [M, hidden] at the selected positions. */
export function buildDecoder(
  build: LayerBuilder,
  text: DecoderConfig,
  inputs: TextInputs,
  run: TextRun,
): Value {
  const deepstack = inputs.images?.features.deepstack ?? [];
  return build.graph.scope('language_model', () => {
    let x = build.graph.cut(build.graph.scope('embed', () => embed(build, text, inputs)));
    for (let layer = 0; layer < text.layers; layer++) {
      const isLast = layer === text.layers - 1;
      const early = isLast && deepstack[layer] === undefined;
      x = buildLayer(build, text, x, layer, inputs, early ? run : { ...run, select: (value) => value });
      if (deepstack[layer] !== undefined && inputs.images !== undefined) {
        x = ops.add(x, lookUp(deepstack[layer], inputs.images.rows));
      }
      if (isLast && !early) x = run.select(x);
      build.graph.cut(x);
    }
    return textNorm(build, text, x, `${text.prefix}.norm`, text.hiddenSize);
  });
}

/** The output layer: hidden states [M, hidden] → logits [M, vocab]. */
export function buildLogits(
  build: LayerBuilder,
  text: DecoderConfig,
  hidden: Value,
  linear: (x: Value, weight: Value) => Value = ops.linear,
): Value {
  return build.graph.scope('lm_head', () =>
    linear(hidden, build.weight(text.outputWeight, [text.vocabSize, text.hiddenSize])),
  );
}
