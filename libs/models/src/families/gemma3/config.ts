import { ConfigReader } from '../../config-reader';
import { outputWeight, parseDecoder, type DecoderConfig, type RopeConfig } from '../common/decoder-config';
import { parseScaling } from '../common/llama-text';
import { parseSiglip, type SiglipConfig } from '../common/siglip-config';

/** Configuration of Gemma 3. */
export interface Gemma3Config {
  text: DecoderConfig;
  vision: SiglipConfig;
  imageTokenId: number;
  /** patches per token and axis */
  poolSize: number;
}

const PREFIX = 'model.language_model';
const WINDOW = 'sliding_attention';
const FULL = 'full_attention';

const defaults = {
  vocabSize: 262_208,
  hiddenSize: 2304,
  intermediateSize: 9216,
  layers: 26,
  heads: 8,
  kvHeads: 4,
  headDim: 256,
  normEps: 1e-6,
};

/** Layers with sliding windows: listed, or all but each `sliding_window_pattern`-th. */
function windowLayers(reader: ConfigReader, layers: number): Set<number> {
  const numbers = Array.from({ length: layers }, (_, layer) => layer);
  if (!reader.has('layer_types')) {
    const pattern = reader.integer('sliding_window_pattern', 6);
    return new Set(numbers.filter((layer) => (layer + 1) % pattern !== 0));
  }
  const types = reader.strings('layer_types');
  if (types.length !== layers || types.some((type) => type !== WINDOW && type !== FULL)) {
    throw reader.error('layer_types', `${layers} times ${WINDOW} or ${FULL}`);
  }
  return new Set(numbers.filter((layer) => types[layer] === WINDOW));
}

/** In transformers, null is not the default. */
function windowSize(reader: ConfigReader): number {
  const size = reader.optionalInteger('sliding_window', 4096);
  if (size === null) throw reader.error('sliding_window', 'an integer of at least 1');
  return size;
}

/** Published folders have two bases and `rope_scaling`; transformers 5 writes one section per kind of layer. */
function parseRope(reader: ConfigReader, kind: string, baseKey: string, fallback: number): RopeConfig {
  const all = reader.has('rope_parameters') ? reader.section('rope_parameters') : undefined;
  const own = all?.has(kind) === true ? all.section(kind) : undefined;
  const scaled =
    own ?? (kind === FULL && reader.has('rope_scaling') ? reader.section('rope_scaling') : undefined);
  const theta = own?.has('rope_theta') === true ? own.number('rope_theta') : reader.number(baseKey, fallback);
  const scaling = scaled && parseScaling(scaled);
  return { theta, sections: null, interleaved: false, ...(scaling && { scaling }) };
}

/** Rejects settings that no published model has. */
function checkFixed(reader: ConfigReader): void {
  reader.oneOf('model_type', ['gemma3_text'], 'gemma3_text');
  reader.oneOf('hidden_activation', ['gelu_pytorch_tanh'], 'gelu_pytorch_tanh');
  for (const key of ['attn_logit_softcapping', 'final_logit_softcapping']) {
    if (reader.has(key)) throw reader.error(key, 'null');
  }
  for (const key of ['use_bidirectional_attention', 'attention_bias']) {
    if (reader.boolean(key, false)) throw reader.error(key, 'false');
  }
}

function parseText(top: ConfigReader): DecoderConfig {
  const reader = top.section('text_config');
  checkFixed(reader);
  const own = {
    prefix: PREFIX,
    outputWeight: outputWeight(PREFIX, top, reader, true),
    qkvBias: false,
    outputBias: false,
    qkNorm: true,
    rope: parseRope(reader, FULL, 'rope_theta', 1_000_000),
    maxPositions: reader.integer('max_position_embeddings', 131_072),
    normsAddToOne: true,
    normsResults: true,
    activation: 'gelu_tanh' as const,
    queryScalar: reader.number('query_pre_attn_scalar', 256),
    wholeImages: true,
  };
  if (!(own.queryScalar > 0)) throw reader.error('query_pre_attn_scalar', 'a positive number');
  const text = parseDecoder(reader, own, defaults);
  const layers = windowLayers(reader, text.layers);
  return {
    ...text,
    embeddingScale: Math.fround(Math.sqrt(text.hiddenSize)),
    ...(layers.size > 0 && {
      window: {
        layers,
        size: windowSize(reader),
        rope: parseRope(reader, WINDOW, 'rope_local_base_freq', 10_000),
      },
    }),
  };
}

function poolSizeOf(top: ConfigReader, { side }: SiglipConfig): number {
  const edge = Math.sqrt(top.integer('mm_tokens_per_image', 256));
  if (!Number.isInteger(edge) || side % edge !== 0) {
    throw top.error('mm_tokens_per_image', `the square of a divisor of image_size / patch_size = ${side}`);
  }
  return side / edge;
}

/**
 * Parses the config.json of a Gemma 3 with vision.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseGemma3Config(json: unknown, file: string): Gemma3Config {
  const top = ConfigReader.of(json, file);
  const reader = top.section('vision_config');
  if (reader.boolean('vision_use_head', false)) throw reader.error('vision_use_head', 'false');
  const vision = parseSiglip(
    reader,
    { hiddenSize: 768, intermediateSize: 3072, layers: 12, heads: 12, imageSize: 224, patchSize: 16 },
    { prefix: 'model.vision_tower' },
  );
  const idKey = top.has('image_token_id') ? 'image_token_id' : 'image_token_index';
  return {
    text: parseText(top),
    vision,
    imageTokenId: top.integer(idKey, 262_144, 0),
    poolSize: poolSizeOf(top, vision),
  };
}
