import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseTextConfig } from '../common/llama-text';

/** Vision tower and projector of InternVL. */
export interface InternVlVision {
  layers: number;
  hiddenSize: number;
  intermediateSize: number;
  heads: number;
  headDim: number;
  inChannels: number;
  patchSize: number;
  /** rows (= columns) of the learned position table: image_size / patch_size */
  side: number;
  normType: 'layer_norm' | 'rms_norm';
  normEps: number;
  /** biases of the query, key and value projections */
  qkvBias: boolean;
  /** whether queries and keys are normalized, over all heads together */
  qkNorm: boolean;
  /** whether a LayerNorm follows the last layer (`use_mean_pooling: false`) */
  finalNorm: boolean;
  /** 1 / `downsample_ratio`: patches per token and axis */
  mergeSize: number;
  /** width of the text model */
  textSize: number;
}

/** Configuration of InternVL3 and InternVL3.5. */
export interface InternVlConfig {
  text: DecoderConfig;
  vision: InternVlVision;
  imageTokenId: number;
}

/** An edge length, given as one integer or as height and width. */
function squareEdge(reader: ConfigReader, key: string, fallback: number): number {
  const value = reader.integerOrList(key, fallback);
  const [height, width = height, ...more] = typeof value === 'number' ? [value] : value;
  if (height !== width || more.length > 0 || !(height >= 1)) {
    throw reader.error(key, 'a positive integer, or two equal ones');
  }
  return height;
}

function mergeSizeOf(top: ConfigReader): number {
  const size = 1 / top.number('downsample_ratio', 0.5);
  if (!Number.isInteger(size) || size < 1) throw top.error('downsample_ratio', '1 divided by an integer');
  return size;
}

/** Rejects settings of other towers unless they have the only supported value. */
function checkFixed(top: ConfigReader, reader: ConfigReader): void {
  reader.oneOf('model_type', ['internvl_vision'], 'internvl_vision');
  reader.oneOf('hidden_act', ['gelu'], 'gelu');
  for (const key of ['hidden_dropout_prob', 'attention_dropout', 'projection_dropout']) {
    if (reader.number(key, 0) !== 0) throw reader.error(key, '0');
  }
  if (reader.boolean('use_mask_token', false)) throw reader.error('use_mask_token', 'false');
  if (!reader.boolean('use_absolute_position_embeddings', true)) {
    throw reader.error('use_absolute_position_embeddings', 'true');
  }
  top.oneOf('projector_hidden_act', ['gelu'], 'gelu');
  top.oneOf('vision_feature_select_strategy', ['default'], 'default');
  if (top.integerOrList('vision_feature_layer', -1) !== -1) {
    throw top.error('vision_feature_layer', '-1, the last layer');
  }
}

function parseVision(top: ConfigReader, textSize: number): InternVlVision {
  const reader = top.section('vision_config');
  checkFixed(top, reader);
  const hiddenSize = reader.integer('hidden_size', 1024);
  const heads = reader.integer('num_attention_heads', 16);
  if (hiddenSize % heads !== 0) {
    throw reader.error('hidden_size', `a multiple of num_attention_heads = ${heads}`);
  }
  const patchSize = squareEdge(reader, 'patch_size', 14);
  const side = Math.floor(squareEdge(reader, 'image_size', 448) / patchSize);
  if (side < 1) throw reader.error('image_size', `at least patch_size = ${patchSize}`);
  return {
    layers: reader.layers('num_hidden_layers', 24),
    hiddenSize,
    intermediateSize: reader.integer('intermediate_size', 4096),
    heads,
    headDim: hiddenSize / heads,
    inChannels: reader.integer('num_channels', 3),
    patchSize,
    side,
    normType: reader.oneOf('norm_type', ['layer_norm', 'rms_norm'], 'layer_norm') as 'layer_norm',
    normEps: reader.number('layer_norm_eps', 1e-6),
    qkvBias: reader.boolean('attention_bias', false),
    qkNorm: reader.boolean('use_qk_norm', false),
    finalNorm: !reader.boolean('use_mean_pooling', true),
    mergeSize: mergeSizeOf(top),
    textSize,
  };
}

/**
 * Parses the config.json of an InternVL in the format of transformers.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseInternVlConfig(json: unknown, file: string): InternVlConfig {
  const reader = ConfigReader.of(json, file);
  const text = parseTextConfig(reader, { prefix: 'model.language_model', modelType: 'qwen2' });
  return {
    text,
    vision: parseVision(reader, text.hiddenSize),
    imageTokenId: reader.integer('image_token_id', 151_667, 0),
  };
}
