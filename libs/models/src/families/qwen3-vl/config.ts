import { ConfigReader } from '../../config-reader';

/** Vision tower of Qwen3-VL. */
export interface Qwen3VisionConfig {
  depth: number;
  hiddenSize: number;
  intermediateSize: number;
  heads: number;
  headDim: number;
  inChannels: number;
  patchSize: number;
  temporalPatchSize: number;
  mergeSize: number;
  outHiddenSize: number;
  positions: number;
  /** vision layers after which features are handed to the first text layers, in that order */
  deepstackIndexes: number[];
  ropeTheta: number;
  activation: 'gelu' | 'gelu_pytorch_tanh';
}

/** Text decoder of Qwen3-VL. */
export interface Qwen3TextConfig {
  vocabSize: number;
  hiddenSize: number;
  intermediateSize: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  normEps: number;
  attentionBias: boolean;
  ropeTheta: number;
  /** how many of the headDim/2 rotary frequencies turn with time, height and width */
  mropeSection: [number, number, number];
  maxPositions: number;
}

/** A dense Qwen3-VL (`model_type: qwen3_vl`). */
export interface Qwen3VlConfig {
  text: Qwen3TextConfig;
  vision: Qwen3VisionConfig;
  tieWordEmbeddings: boolean;
  imageTokenId: number;
  videoTokenId: number;
  visionStartTokenId: number;
  visionEndTokenId: number;
}

function parseVision(reader: ConfigReader): Qwen3VisionConfig {
  const hiddenSize = reader.integer('hidden_size');
  const heads = reader.integer('num_heads');
  const depth = reader.integer('depth');
  if (hiddenSize % (heads * 4) !== 0)
    throw reader.error('hidden_size', `a multiple of 4 · num_heads = ${heads * 4}`);
  const positions = reader.integer('num_position_embeddings');
  if (!Number.isInteger(Math.sqrt(positions)))
    throw reader.error('num_position_embeddings', 'a square number');
  const deepstackIndexes = reader.integers('deepstack_visual_indexes');
  if (deepstackIndexes.some((index, i) => index >= depth || (i > 0 && index <= deepstackIndexes[i - 1]))) {
    throw reader.error('deepstack_visual_indexes', `increasing layer numbers below depth = ${depth}`);
  }
  const rope = reader.has('rope_parameters') ? reader.section('rope_parameters') : reader;
  return {
    depth,
    hiddenSize,
    heads,
    headDim: hiddenSize / heads,
    intermediateSize: reader.integer('intermediate_size'),
    inChannels: reader.integer('in_channels', 3),
    patchSize: reader.integer('patch_size', 16),
    temporalPatchSize: reader.integer('temporal_patch_size', 2),
    mergeSize: reader.integer('spatial_merge_size', 2),
    outHiddenSize: reader.integer('out_hidden_size'),
    positions,
    deepstackIndexes,
    ropeTheta: rope.number('rope_theta', 10_000),
    activation: reader.oneOf('hidden_act', ['gelu', 'gelu_pytorch_tanh'], 'gelu_pytorch_tanh') as 'gelu',
  };
}

/** Original folders have `rope_scaling` and `rope_theta`; transformers 5 writes both into `rope_parameters`. */
function parseRope(
  reader: ConfigReader,
  headDim: number,
): { ropeTheta: number; mropeSection: [number, number, number] } {
  const key = reader.has('rope_parameters') ? 'rope_parameters' : 'rope_scaling';
  const rope = reader.section(key);
  rope.oneOf(rope.has('rope_type') ? 'rope_type' : 'type', ['default'], 'default');
  if (!rope.boolean('mrope_interleaved', true)) throw rope.error('mrope_interleaved', 'true');
  const section = rope.integers('mrope_section');
  const pairs = headDim / 2;
  if (section.length !== 3 || section[0] + section[1] + section[2] !== pairs) {
    throw rope.error('mrope_section', `three integers that add up to head_dim / 2 = ${pairs}`);
  }
  const ropeTheta = rope.has('rope_theta') ? rope.number('rope_theta') : reader.number('rope_theta', 500_000);
  return { ropeTheta, mropeSection: section as [number, number, number] };
}

function parseText(reader: ConfigReader): Qwen3TextConfig {
  const hiddenSize = reader.integer('hidden_size');
  const heads = reader.integer('num_attention_heads');
  const kvHeads = reader.integer('num_key_value_heads', heads);
  if (heads % kvHeads !== 0)
    throw reader.error('num_key_value_heads', `a divisor of num_attention_heads = ${heads}`);
  const headDim = reader.integer('head_dim', 128);
  if (headDim % 2 !== 0) throw reader.error('head_dim', 'an even number');
  reader.oneOf('hidden_act', ['silu'], 'silu');
  if (reader.number('attention_dropout', 0) !== 0) throw reader.error('attention_dropout', '0');
  return {
    vocabSize: reader.integer('vocab_size'),
    hiddenSize,
    intermediateSize: reader.integer('intermediate_size'),
    layers: reader.integer('num_hidden_layers'),
    heads,
    kvHeads,
    headDim,
    normEps: reader.number('rms_norm_eps', 1e-6),
    attentionBias: reader.boolean('attention_bias', false),
    maxPositions: reader.integer('max_position_embeddings', 128_000),
    ...parseRope(reader, headDim),
  };
}

/**
 * Reads the config.json of a dense Qwen3-VL, in the form of the original folders or of transformers 5.
 * @throws ModelError naming the field when something is missing, contradictory or unsupported.
 */
export function parseQwen3VlConfig(json: unknown, file: string): Qwen3VlConfig {
  const reader = ConfigReader.of(json, file);
  const vision = parseVision(reader.section('vision_config'));
  const textReader = reader.section('text_config');
  const text = parseText(textReader);
  if (vision.outHiddenSize !== text.hiddenSize) {
    throw reader
      .section('vision_config')
      .error('out_hidden_size', `text_config.hidden_size = ${text.hiddenSize}`);
  }
  if (vision.deepstackIndexes.length > text.layers) {
    const limit = `at most text_config.num_hidden_layers = ${text.layers} entries`;
    throw reader.section('vision_config').error('deepstack_visual_indexes', limit);
  }
  return {
    text,
    vision,
    tieWordEmbeddings: reader.boolean(
      'tie_word_embeddings',
      textReader.boolean('tie_word_embeddings', false),
    ),
    imageTokenId: reader.integer('image_token_id', 151_655, 0),
    videoTokenId: reader.integer('video_token_id', 151_656, 0),
    visionStartTokenId: reader.integer('vision_start_token_id', 151_652, 0),
    visionEndTokenId: reader.integer('vision_end_token_id', 151_653, 0),
  };
}
