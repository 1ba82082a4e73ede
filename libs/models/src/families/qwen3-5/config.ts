import { ConfigReader } from '../../config-reader';
import { mropeSections, outputWeight, parseDecoder, type DecoderConfig } from '../common/decoder-config';
import type { LinearAttentionConfig } from '../common/linear-attention';
import type { MixtureConfig } from '../common/mixture';
import { parseQwen3Vision, type Qwen3VlConfig } from '../qwen3-vl/config';

const textPrefix = 'model.language_model';
const FULL = 'full_attention';
const LINEAR = 'linear_attention';

/** The linear-attention layers: listed by name, or all but every n-th. */
function linearLayers(reader: ConfigReader): ReadonlySet<number> {
  const count = reader.layers('num_hidden_layers');
  const interval = reader.integer('full_attention_interval', 4);
  const usual = Array.from({ length: count }, (_, i) => ((i + 1) % interval === 0 ? FULL : LINEAR));
  const types = reader.has('layer_types') ? reader.strings('layer_types') : usual;
  if (types.length !== count || types.some((type) => type !== FULL && type !== LINEAR)) {
    throw reader.error('layer_types', `${FULL} or ${LINEAR} for each of num_hidden_layers = ${count} layers`);
  }
  if (!types.includes(FULL)) throw reader.error('layer_types', `at least one layer of ${FULL}`);
  return new Set(types.flatMap((type, layer) => (type === LINEAR ? [layer] : [])));
}

function parseLinearAttention(reader: ConfigReader): LinearAttentionConfig | undefined {
  const layers = linearLayers(reader);
  if (layers.size === 0) return undefined;
  const keyHeads = reader.integer('linear_num_key_heads', 16);
  const heads = reader.integer('linear_num_value_heads', 32);
  if (heads % keyHeads !== 0)
    throw reader.error('linear_num_value_heads', `a multiple of linear_num_key_heads = ${keyHeads}`);
  return {
    layers,
    keyHeads,
    heads,
    keyDim: reader.integer('linear_key_head_dim', 128),
    valueDim: reader.integer('linear_value_head_dim', 128),
    kernel: reader.integer('linear_conv_kernel_dim', 4, 2),
  };
}

/** Rotary embedding of the first numbers of each head, from `rope_parameters`. */
function parseRope(reader: ConfigReader, headDim: number): Pick<DecoderConfig, 'rope' | 'rotaryDim'> {
  const rope = reader.section('rope_parameters');
  rope.oneOf(rope.has('rope_type') ? 'rope_type' : 'type', ['default'], 'default');
  if (!rope.boolean('mrope_interleaved', true)) throw rope.error('mrope_interleaved', 'true');
  const holder = rope.has('partial_rotary_factor') ? rope : reader;
  const share = holder.number('partial_rotary_factor', 0.25);
  const rotaryDim = headDim * share;
  if (!(share > 0 && share <= 1 && rotaryDim % 2 === 0))
    throw holder.error('partial_rotary_factor', `a share of head_dim = ${headDim} that is an even number`);
  const sections = mropeSections(rope, rotaryDim, 'partial_rotary_factor · head_dim');
  const theta = (rope.has('rope_theta') ? rope : reader).number('rope_theta', 10_000_000);
  return { rotaryDim, rope: { theta, sections, interleaved: true } };
}

/** Differences between the text models of dense Qwen3.5 and of those with experts. */
export interface Qwen35Variant {
  mixture?: (reader: ConfigReader) => MixtureConfig;
  /** `intermediate_size` if no layer has a dense network */
  intermediateSize?: number;
}

function parseText(top: ConfigReader, reader: ConfigReader, variant: Qwen35Variant): DecoderConfig {
  if (!reader.boolean('attn_output_gate', true)) throw reader.error('attn_output_gate', 'true');
  const bias = reader.boolean('attention_bias', false);
  const headDim = reader.integer('head_dim', 256);
  const own = {
    prefix: textPrefix,
    outputWeight: outputWeight(textPrefix, top, reader),
    qkvBias: bias,
    outputBias: bias,
    qkNorm: true,
    outputGate: true,
    normsAddToOne: true,
    ...parseRope(reader, headDim),
    maxPositions: reader.integer('max_position_embeddings', 262_144),
    linearAttention: parseLinearAttention(reader),
    mixture: variant.mixture?.(reader),
  };
  return parseDecoder(reader, own, { headDim, intermediateSize: variant.intermediateSize });
}

/** The tower has no deepstack; original folders have an empty list. */
function noDeepstack(reader: ConfigReader): number[] {
  const named = reader.has('deepstack_visual_indexes') ? reader.integers('deepstack_visual_indexes') : [];
  if (named.length > 0) throw reader.error('deepstack_visual_indexes', 'an empty list');
  return named;
}

/**
 * Reads the config.json of a Qwen3.5, 3.6 or 3.8, dense by default. Weights of multi-token prediction heads (`mtp`)
 * are not read.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseQwen35Config(json: unknown, file: string, variant: Qwen35Variant = {}): Qwen3VlConfig {
  const reader = ConfigReader.of(json, file);
  const visionReader = reader.section('vision_config');
  const vision = parseQwen3Vision(visionReader, noDeepstack);
  const text = parseText(reader, reader.section('text_config'), variant);
  if (vision.outHiddenSize !== text.hiddenSize)
    throw visionReader.error('out_hidden_size', `text_config.hidden_size = ${text.hiddenSize}`);
  return { text, vision, imageTokenId: reader.integer('image_token_id', 248_056, 0) };
}
