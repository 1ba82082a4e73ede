import { ops, type Value } from '@ui-rl/graph';
import { gatedMlp } from '../../nn/gated-mlp';
import type { LayerBuilder } from '../../nn/layer-builder';
import { decoderLayer, type DecoderConfig } from './decoder-config';
import { mixtureOfExperts } from './mixture';
import type { VisionFeatures } from './model';

/** Rotated queries [B, T, heads · headDim], rotated keys and values [B, T, kvHeads · headDim] of one layer. */
export interface Projections {
  q: Value;
  k: Value;
  v: Value;
}

/** Turns the projections of a layer into its context [B, T, heads · headDim]. */
export type Attention = (layer: number, projections: Projections) => Value;

/** Inputs of the decoder: B rows of T tokens. */
export interface TextInputs {
  /** int64 [B, T] */
  tokenIds: Value;
  /** [B, T, headDim / 2] */
  cos: Value;
  sin: Value;
  images?: ImageRows;
}

/** Which tokens are image placeholders, and what stands there instead. */
export interface ImageRows {
  /** float [B, T] 1 for text, 0 for placeholders */
  textMask: Value;
  /** int64 [B, T] row of the features; the number of rows for text */
  rows: Value;
  features: VisionFeatures;
}

/** How the decoder is run. */
export interface TextRun {
  attention: Attention;
  /** keeps the positions that are needed after the last layer's attention: [B·T, x] → [M, x] */
  select: (x: Value) => Value;
}

/** Features with a row of zeros behind them, looked up for every token: [B·T, hidden], 0 where there is no image. */
function lookUp(features: Value, rows: Value): Value {
  const zero = ops.full(features.graph, [1, features.shape[1]], 0);
  return ops.gather(ops.concat([features, zero], 0), ops.reshape(rows, [-1]), 0);
}

/** Hidden states have one row per token, [B·T, hidden]: what the products of linear layers take as it is. */
function embed(build: LayerBuilder, text: DecoderConfig, { tokenIds, images }: TextInputs): Value {
  const table = `${text.prefix}.embed_tokens.weight`;
  const tokens = build.embedding(table, [text.vocabSize, text.hiddenSize], ops.reshape(tokenIds, [-1]));
  if (images === undefined) return tokens;
  const kept = ops.mul(tokens, ops.reshape(images.textMask, [-1, 1]));
  return ops.add(kept, lookUp(images.features.features, images.rows));
}

function project(
  build: LayerBuilder,
  text: DecoderConfig,
  x: Value,
  name: string,
  inputs: TextInputs,
): Projections {
  const { hiddenSize: inFeatures, headDim, qkvBias: bias } = text;
  const [rows] = x.shape;
  const byToken = (value: Value, heads: number): Value =>
    ops.reshape(value, [...inputs.tokenIds.shape, heads * headDim]);
  const linear = (projection: string, heads: number): Value =>
    build.linear(x, `${name}.${projection}`, { inFeatures, outFeatures: heads * headDim, bias });
  const rotated = (projection: string, norm: string, heads: number): Value => {
    let projected = linear(projection, heads);
    if (text.qkNorm) {
      const byHead = ops.reshape(projected, [rows, heads, headDim]);
      projected = build.rmsNorm(byHead, `${name}.${norm}`, headDim, text.normEps);
    }
    return ops.rotary(byToken(projected, heads), inputs.cos, inputs.sin, heads);
  };
  return {
    q: rotated('q_proj', 'q_norm', text.heads),
    k: rotated('k_proj', 'k_norm', text.kvHeads),
    v: byToken(linear('v_proj', text.kvHeads), text.kvHeads),
  };
}

/** The feed-forward network of a layer, dense or a mixture of experts. */
function feedForward(build: LayerBuilder, text: DecoderConfig, x: Value, layer: number, name: string): Value {
  const { hiddenSize, intermediateSize: width, mixture } = text;
  if (mixture?.layers.has(layer) === true) return mixtureOfExperts(build, mixture, x, name);
  return gatedMlp(build, x, name, { inFeatures: hiddenSize, width, outFeatures: hiddenSize });
}

/** One decoder layer; `select` drops positions as soon as attention no longer needs them. */
function buildLayer(
  build: LayerBuilder,
  text: DecoderConfig,
  x: Value,
  layer: number,
  inputs: TextInputs,
  attention: Attention,
  select: (x: Value) => Value,
): Value {
  const name = decoderLayer(text, layer);
  return build.graph.scope(`layers.${layer}`, () => {
    const normed = build.rmsNorm(x, `${name}.input_layernorm`, text.hiddenSize, text.normEps);
    const context = build.graph.scope('self_attn', () =>
      attention(layer, project(build, text, normed, `${name}.self_attn`, inputs)),
    );
    const size = {
      inFeatures: text.heads * text.headDim,
      outFeatures: text.hiddenSize,
      bias: text.outputBias,
    };
    const attended = ops.add(
      select(x),
      build.linear(select(ops.flattenRows(context)), `${name}.self_attn.o_proj`, size),
    );
    const second = build.rmsNorm(attended, `${name}.post_attention_layernorm`, text.hiddenSize, text.normEps);
    return ops.add(
      attended,
      build.graph.scope('mlp', () => feedForward(build, text, second, layer, `${name}.mlp`)),
    );
  });
}

/** The decoder: the normalized hidden states [M, hidden] at the selected positions. */
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
      x = buildLayer(build, text, x, layer, inputs, run.attention, early ? run.select : (value) => value);
      if (deepstack[layer] !== undefined && inputs.images !== undefined) {
        x = ops.add(x, lookUp(deepstack[layer], inputs.images.rows));
      }
      if (isLast && !early) x = run.select(x);
      build.graph.cut(x);
    }
    return build.rmsNorm(x, `${text.prefix}.norm`, text.hiddenSize, text.normEps);
  });
}

/** The output layer: hidden states [M, hidden] → logits [M, vocab]. */
export function buildLogits(build: LayerBuilder, text: DecoderConfig, hidden: Value): Value {
  return build.graph.scope('lm_head', () =>
    ops.linear(hidden, build.weight(text.outputWeight, [text.vocabSize, text.hiddenSize])),
  );
}
