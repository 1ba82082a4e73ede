import type { ConfigReader } from '../../config-reader';
import type { LinearSpec, ParameterSpec } from '../base';
import {
  LINEAR_ATTENTION_STEP,
  linearAttentionLinears,
  linearAttentionParameters,
  type LinearAttentionConfig,
} from './linear-attention';
import { mixtureLinears, type MixtureConfig } from './mixture';
import { linearParameters, residual } from './parameters';
import type { RopeScaling } from './rope-scaling';

/** Rotary position embedding of a decoder. */
export interface RopeConfig {
  /** `rope_theta` */
  theta: number;
  /**
   * `mrope_section`: number of rotation frequencies, one per two rotated numbers, for time, height and width; null if
   * all use the same position
   */
  sections: readonly [number, number, number] | null;
  /** whether the axes alternate (Qwen3-VL) or are contiguous (Qwen2-VL) */
  interleaved: boolean;
  /** scaling of the frequencies, if any */
  scaling?: RopeScaling;
}

/** A Llama-style decoder: the common configuration of the families' text models, and their differences. */
export interface DecoderConfig {
  /** module that contains embed_tokens, layers and norm */
  prefix: string;
  /** weight of the output layer: the input embedding if they are tied */
  outputWeight: string;
  vocabSize: number;
  hiddenSize: number;
  intermediateSize: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  normEps: number;
  /** biases of the query, key and value projections */
  qkvBias: boolean;
  /** bias of the attention's output projection */
  outputBias: boolean;
  /** whether queries and keys are normalized per head */
  qkNorm: boolean;
  rope: RopeConfig;
  maxPositions: number;
  /** the layers with a mixture of experts as feed-forward network, if any */
  mixture?: MixtureConfig;
  /** the layers with linear attention, if any */
  linearAttention?: LinearAttentionConfig;
  /** number of leading numbers of each head that are rotated; default: all */
  rotaryDim?: number;
  /** whether a sigmoid gate, computed along with the queries, multiplies the attention's result (arXiv:2505.06708) */
  outputGate?: boolean;
  /** whether the weights of norms are offsets from 1 (Qwen3.5) instead of factors */
  normsAddToOne?: boolean;
  /** factor of token embeddings, default 1 */
  embeddingScale?: number;
  /** whether the results of attention and feed-forward network are normalized, too (Gemma 3), default false */
  normsResults?: boolean;
  /** activation of the feed-forward network, default `silu` */
  activation?: 'silu' | 'gelu_tanh';
  /** factor of attention scores is this number to the power of -0.5; default: headDim */
  queryScalar?: number;
  /** the layers with sliding-window attention, if any */
  window?: WindowConfig;
  /** see `Family.wholeImages` */
  wholeImages?: boolean;
}

/** Layers whose attention reaches back only some tokens. */
export interface WindowConfig {
  layers: ReadonlySet<number>;
  /** number of tokens that a token attends to, itself included */
  size: number;
  /** their rotary positions */
  rope: RopeConfig;
}

/** Whether attention within prompts needs more than a causal mask. */
export function hasOwnMask({ window, wholeImages }: DecoderConfig): boolean {
  return window !== undefined || wholeImages === true;
}

/** The norms of a layer over its hidden states: `mlp` before the feed-forward network. */
export function layerNorms({ normsResults }: DecoderConfig): { mlp: string; all: readonly string[] } {
  const two = ['input_layernorm', 'post_attention_layernorm'];
  return normsResults === true
    ? {
        mlp: 'pre_feedforward_layernorm',
        all: [...two, 'pre_feedforward_layernorm', 'post_feedforward_layernorm'],
      }
    : { mlp: 'post_attention_layernorm', all: two };
}

/** Number of rotated numbers of each head. */
export function rotaryDimOf({ rotaryDim, headDim }: DecoderConfig): number {
  return rotaryDim ?? headDim;
}

/** Trainer sequences begin at a multiple of this number of tokens of their row, and are padded to one. */
export function sequenceStep({ linearAttention }: Pick<DecoderConfig, 'linearAttention'>): number {
  return linearAttention === undefined ? 1 : LINEAR_ATTENTION_STEP;
}

/** Whether a layer has softmax attention, and therefore keys and values to cache. */
export function hasKeys({ linearAttention }: DecoderConfig, layer: number): boolean {
  return linearAttention?.layers.has(layer) !== true;
}

/** Defaults for optional fields; fields without a default here are required. */
export interface DecoderDefaults {
  vocabSize?: number;
  hiddenSize?: number;
  intermediateSize?: number;
  layers?: number;
  heads?: number;
  /** default: the number of query heads */
  kvHeads?: number;
  /** default: hiddenSize / heads */
  headDim?: number;
  normEps?: number;
}

/** The output layer's weight if it is not tied to the embeddings. */
export const OWN_HEAD = 'lm_head.weight';

/**
 * The weight of the output layer according to `tie_word_embeddings`, which is at the top level of config.json, in
 * `text_config`, or in both: transformers 4 wrote it to either. If the weight files contain a separate output layer,
 * that takes precedence, see `withStoredHead`.
 */
export function outputWeight(
  prefix: string,
  top: ConfigReader,
  text: ConfigReader,
  isTiedByDefault = false,
): string {
  const key = 'tie_word_embeddings';
  const flags = [top, text].filter((reader) => reader.has(key)).map((reader) => reader.boolean(key));
  const isTied = flags.length === 0 ? isTiedByDefault : flags.includes(true);
  return isTied ? `${prefix}.embed_tokens.weight` : OWN_HEAD;
}

/** Reads the fields that the text configurations of all families share, with their defaults. */
export function parseDecoder(
  reader: ConfigReader,
  own: Omit<
    DecoderConfig,
    'vocabSize' | 'hiddenSize' | 'intermediateSize' | 'layers' | 'heads' | 'kvHeads' | 'headDim' | 'normEps'
  >,
  defaults: DecoderDefaults = {},
): DecoderConfig {
  const hiddenSize = reader.integer('hidden_size', defaults.hiddenSize);
  const heads = reader.integer('num_attention_heads', defaults.heads);
  const kvHeads = reader.integer('num_key_value_heads', defaults.kvHeads ?? heads);
  if (heads % kvHeads !== 0) {
    throw reader.error('num_key_value_heads', `a divisor of num_attention_heads = ${heads}`);
  }
  const headDim = reader.integer('head_dim', defaults.headDim ?? hiddenSize / heads);
  if (headDim % 2 !== 0) throw reader.error('head_dim', 'an even number');
  if (own.activation === undefined) reader.oneOf('hidden_act', ['silu'], 'silu');
  if (reader.number('attention_dropout', 0) !== 0) throw reader.error('attention_dropout', '0');
  return {
    ...own,
    vocabSize: reader.integer('vocab_size', defaults.vocabSize),
    hiddenSize,
    intermediateSize: reader.integer('intermediate_size', defaults.intermediateSize),
    layers: reader.layers('num_hidden_layers', defaults.layers),
    heads,
    kvHeads,
    headDim,
    normEps: reader.number('rms_norm_eps', defaults.normEps ?? 1e-6),
  };
}

/**
 * `mrope_section` of a rope section: number of rotation frequencies, one per two of `rotaryDim` numbers, for time,
 * height and width.
 * @param size name of `rotaryDim` for messages
 * @throws ModelError if they do not add up.
 */
export function mropeSections(
  rope: ConfigReader,
  rotaryDim: number,
  size = 'head_dim',
): [number, number, number] {
  const sections = rope.integers('mrope_section');
  const pairs = rotaryDim / 2;
  if (sections.length !== 3 || sections[0] + sections[1] + sections[2] !== pairs) {
    throw rope.error('mrope_section', `three integers that add up to ${size} / 2 = ${pairs}`);
  }
  return sections as [number, number, number];
}

export function decoderLayer({ prefix }: DecoderConfig, layer: number): string {
  return `${prefix}.layers.${layer}`;
}

function layersOf(text: DecoderConfig): string[] {
  return Array.from({ length: text.layers }, (_, layer) => decoderLayer(text, layer));
}

/** Outputs of the query projection: queries, with a gate of equal size after each head's. */
export function queryOutputs({ heads, headDim, outputGate }: DecoderConfig): number {
  return heads * headDim * (outputGate === true ? 2 : 1);
}

/** All linear layers of the decoder except the output layer. */
export function decoderLinears(text: DecoderConfig): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide, headDim } = text;
  const [queries, keys] = [text.heads * headDim, text.kvHeads * headDim];
  const linear = (
    name: string,
    inFeatures: number,
    outFeatures: number,
    group: LinearSpec['group'],
  ): LinearSpec => ({ name, inFeatures, outFeatures, part: 'text', group });
  const feedForward = (name: string): LinearSpec[] => [
    linear(`${name}.gate_proj`, hidden, wide, 'mlp'),
    linear(`${name}.up_proj`, hidden, wide, 'mlp'),
    residual(linear(`${name}.down_proj`, wide, hidden, 'mlp')),
  ];
  const attention = (layer: string): LinearSpec[] => [
    linear(`${layer}.self_attn.q_proj`, hidden, queryOutputs(text), 'attention'),
    linear(`${layer}.self_attn.k_proj`, hidden, keys, 'attention'),
    linear(`${layer}.self_attn.v_proj`, hidden, keys, 'attention'),
    residual(linear(`${layer}.self_attn.o_proj`, queries, hidden, 'attention')),
  ];
  return layersOf(text).flatMap((layer, index) => [
    ...(hasKeys(text, index)
      ? attention(layer)
      : linearAttentionLinears(text.linearAttention!, hidden, `${layer}.linear_attn`)),
    ...(text.mixture?.layers.has(index) === true
      ? mixtureLinears(text.mixture, hidden, `${layer}.mlp`)
      : feedForward(`${layer}.mlp`)),
  ]);
}

/** All weights of the decoder, including the output layer if it is separate. */
export function decoderParameters(text: DecoderConfig): ParameterSpec[] {
  const scale = (name: string, size: number): ParameterSpec => ({
    name: `${name}.weight`,
    shape: [size],
    initial: text.normsAddToOne === true ? 'zeros' : 'ones',
  });
  const attention = (layer: string, index: number): ParameterSpec[] => {
    if (!hasKeys(text, index))
      return linearAttentionParameters(text.linearAttention!, `${layer}.linear_attn`);
    if (!text.qkNorm) return [];
    return ['q_norm', 'k_norm'].map((norm) => scale(`${layer}.self_attn.${norm}`, text.headDim));
  };
  const table = (name: string): ParameterSpec => ({
    name,
    shape: [text.vocabSize, text.hiddenSize],
    initial: 'normal',
  });
  const hasBias = (layer: LinearSpec): boolean =>
    layer.group === 'attention' && (layer.residual === true ? text.outputBias : text.qkvBias);
  const input = `${text.prefix}.embed_tokens.weight`;
  return [
    table(input),
    ...linearParameters(decoderLinears(text), hasBias),
    ...layersOf(text).flatMap((layer, index) => [
      ...layerNorms(text).all.map((norm) => scale(`${layer}.${norm}`, text.hiddenSize)),
      ...attention(layer, index),
    ]),
    scale(`${text.prefix}.norm`, text.hiddenSize),
    ...(text.outputWeight === input ? [] : [table(text.outputWeight)]),
  ];
}
