import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseTextConfig } from '../common/llama-text';
import { parseSiglip, type SiglipConfig } from '../common/siglip-config';

/** Perceiver resampler: maps any number of image patches to a fixed number of latents. */
export interface PerceiverConfig {
  latents: number;
  depth: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  /** hidden size of the text model */
  hiddenSize: number;
  normEps: number;
}

export interface Idefics2Config {
  text: DecoderConfig;
  vision: SiglipConfig;
  perceiver: PerceiverConfig;
  imageTokenId: number;
}

const visionDefaults = {
  hiddenSize: 768,
  intermediateSize: 3072,
  layers: 12,
  heads: 12,
  imageSize: 224,
  patchSize: 32,
};

const PERCEIVER_HIDDEN_SIZE = 4096;

/** If the width differs from the text model's, transformers uses the text model's width and epsilon. */
function parsePerceiver(reader: ConfigReader, text: DecoderConfig): PerceiverConfig {
  const heads = reader.integer('resampler_n_heads', 16);
  const kvHeads = reader.integer('num_key_value_heads', 4);
  if (heads % kvHeads !== 0) {
    throw reader.error('num_key_value_heads', `a divisor of resampler_n_heads = ${heads}`);
  }
  if (reader.number('attention_dropout', 0) !== 0) throw reader.error('attention_dropout', '0');
  reader.oneOf('hidden_act', ['silu'], 'silu');
  const isOwn = reader.integer('hidden_size', PERCEIVER_HIDDEN_SIZE) === text.hiddenSize;
  return {
    latents: reader.integer('resampler_n_latents', 64),
    depth: reader.integer('resampler_depth', 3),
    heads,
    kvHeads,
    headDim: reader.integer('resampler_head_dim', 96),
    hiddenSize: text.hiddenSize,
    normEps: isOwn ? reader.number('rms_norm_eps', 1e-6) : text.normEps,
  };
}

/**
 * Reads the config.json of an Idefics2.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseIdefics2Config(json: unknown, file: string): Idefics2Config {
  const reader = ConfigReader.of(json, file);
  const text = parseTextConfig(reader, { prefix: 'model.text_model', modelType: 'mistral' });
  const perceiver = reader.has('perceiver_config')
    ? reader.section('perceiver_config')
    : ConfigReader.of({}, file);
  return {
    text,
    vision: parseSiglip(reader.section('vision_config'), visionDefaults, { prefix: 'model.vision_model' }),
    perceiver: parsePerceiver(perceiver, text),
    imageTokenId: reader.integer('image_token_id', 32_001, 0),
  };
}
