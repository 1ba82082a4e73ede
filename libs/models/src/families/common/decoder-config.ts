import type { ConfigReader } from '../../config-reader';
import type { LinearSpec, ParameterSpec } from '../base';
import {
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
   * `mrope_section`: how many of the frequencies, one for each two numbers that turn, go with time, height and width; null where
   * all go with one position
   */
  sections: readonly [number, number, number] | null;
  /** whether the axes take turns (Qwen3-VL) or follow each other (Qwen2-VL) */
  interleaved: boolean;
  /** how the frequencies are stretched, where they are */
  scaling?: RopeScaling;
}

/** A decoder of the Llama kind: what the families' text models have in common, and where they differ. */
export interface DecoderConfig {
  /** module that holds embed_tokens, layers and norm */
  prefix: string;
  /** weight of the output layer: with tied embeddings that of the input */
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
  /** the layers whose feed-forward network is a mixture of experts, where there are any */
  mixture?: MixtureConfig;
  /** the layers whose attention is linear, where there are any */
  linearAttention?: LinearAttentionConfig;
  /** numbers of each head that turn with the position, the first ones; default: all */
  rotaryDim?: number;
  /** whether queries have a gate next to them, a sigmoid of which multiplies what attention gives (arXiv:2505.06708) */
  outputGate?: boolean;
  /** whether what the weights of norms add to is 1 (Qwen3.5), not 0 */
  normsAddToOne?: boolean;
}

/** Numbers of each head that turn with the position. */
export function rotaryDimOf({ rotaryDim, headDim }: DecoderConfig): number {
  return rotaryDim ?? headDim;
}

/** Whether a layer has softmax attention, and so keys and values to remember. */
export function hasKeys({ linearAttention }: DecoderConfig, layer: number): boolean {
  return linearAttention?.layers.has(layer) !== true;
}

/** What a configuration may leave out; what has no default here must be given. */
export interface DecoderDefaults {
  vocabSize?: number;
  hiddenSize?: number;
  intermediateSize?: number;
  layers?: number;
  heads?: number;
  /** default: as many as query heads */
  kvHeads?: number;
  /** default: hiddenSize / heads */
  headDim?: number;
  normEps?: number;
}

/** The output layer's weight, where it is not that of the embeddings. */
export const OWN_HEAD = 'lm_head.weight';

/**
 * The weight of the output layer by `tie_word_embeddings`, which stands at the top of config.json, in `text_config`, or in both:
 * transformers 4 wrote it into either. A file with an output layer of its own decides otherwise, see `withStoredHead`.
 */
export function outputWeight(prefix: string, top: ConfigReader, text: ConfigReader): string {
  const isTied = [top, text].some((reader) => reader.boolean('tie_word_embeddings', false));
  return isTied ? `${prefix}.embed_tokens.weight` : OWN_HEAD;
}

/** Reads what the text configurations of all families call the same, with their defaults where it is left out. */
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
  reader.oneOf('hidden_act', ['silu'], 'silu');
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
 * `mrope_section` of a rope section: how many of the frequencies, one for each two of `rotaryDim` numbers, turn with time, height and
 * width.
 * @param size what `rotaryDim` is, for messages
 * @throws ModelError when they do not add up.
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

/** Outputs of the query projection: queries, and gates of equal number next to each head's. */
export function queryOutputs({ heads, headDim, outputGate }: DecoderConfig): number {
  return heads * headDim * (outputGate === true ? 2 : 1);
}

/** Every linear layer of the decoder but the output layer. */
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

/** Every weight of the decoder, the output layer's where it has one of its own. */
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
      scale(`${layer}.input_layernorm`, text.hiddenSize),
      scale(`${layer}.post_attention_layernorm`, text.hiddenSize),
      ...attention(layer, index),
    ]),
    scale(`${text.prefix}.norm`, text.hiddenSize),
    ...(text.outputWeight === input ? [] : [table(text.outputWeight)]),
  ];
}
