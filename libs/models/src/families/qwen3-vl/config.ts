import { ConfigReader } from '../../config-reader';
import {
  mropeSections,
  outputWeight,
  parseDecoder,
  type DecoderConfig,
  type RopeConfig,
} from '../common/decoder-config';
import type { MixtureConfig } from '../common/mixture';
import type { PatchTowerSize } from '../common/patch-attention';

const textPrefix = 'model.language_model';

/** Vision tower of Qwen3-VL. */
export interface Qwen3VisionConfig extends PatchTowerSize {
  positions: number;
  /** vision layers whose features are added after the first text layers, in that order */
  deepstackIndexes: number[];
  activation: 'gelu' | 'gelu_pytorch_tanh';
}

/** A Qwen3-VL with a dense text model (`model_type: qwen3_vl`) or with experts (`qwen3_vl_moe`). */
export interface Qwen3VlConfig {
  text: DecoderConfig;
  vision: Qwen3VisionConfig;
  imageTokenId: number;
}

/** Reads the vision tower of Qwen3-VL, or a similar one without deepstack. */
export function parseQwen3Vision(
  reader: ConfigReader,
  deepstack: (reader: ConfigReader) => number[] = (own) => own.integers('deepstack_visual_indexes'),
): Qwen3VisionConfig {
  const hiddenSize = reader.integer('hidden_size');
  const heads = reader.integer('num_heads');
  const depth = reader.layers('depth');
  if (hiddenSize % (heads * 4) !== 0)
    throw reader.error('hidden_size', `a multiple of 4 · num_heads = ${heads * 4}`);
  const positions = reader.integer('num_position_embeddings');
  if (!Number.isInteger(Math.sqrt(positions)))
    throw reader.error('num_position_embeddings', 'a square number');
  const deepstackIndexes = deepstack(reader);
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

/** Original folders have `rope_scaling` and `rope_theta`; transformers 5 writes both to `rope_parameters`. */
function parseRope(reader: ConfigReader, headDim: number): RopeConfig {
  const key = reader.has('rope_parameters') ? 'rope_parameters' : 'rope_scaling';
  const rope = reader.section(key);
  rope.oneOf(rope.has('rope_type') ? 'rope_type' : 'type', ['default'], 'default');
  if (!rope.boolean('mrope_interleaved', true)) throw rope.error('mrope_interleaved', 'true');
  const theta = rope.has('rope_theta') ? rope.number('rope_theta') : reader.number('rope_theta', 500_000);
  return { theta, sections: mropeSections(rope, headDim), interleaved: true };
}

/** Differences between the text models of dense Qwen3-VL and of those with experts. */
export interface TextVariant {
  /** default of `head_dim` */
  headDim: (reader: ConfigReader) => number;
  mixture?: (reader: ConfigReader) => MixtureConfig;
}

const dense: TextVariant = { headDim: () => 128 };

function parseText(top: ConfigReader, reader: ConfigReader, variant: TextVariant): DecoderConfig {
  const bias = reader.boolean('attention_bias', false);
  const headDim = reader.integer('head_dim', variant.headDim(reader));
  const rope = parseRope(reader, headDim);
  const own = {
    prefix: textPrefix,
    outputWeight: outputWeight(textPrefix, top, reader),
    qkvBias: bias,
    outputBias: bias,
    qkNorm: true,
    rope,
    maxPositions: reader.integer('max_position_embeddings', 128_000),
    mixture: variant.mixture?.(reader),
  };
  return parseDecoder(reader, own, { headDim });
}

/**
 * Reads the config.json of a Qwen3-VL, dense by default, in the form of the original folders or of transformers 5.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseQwen3VlConfig(json: unknown, file: string, variant = dense): Qwen3VlConfig {
  const reader = ConfigReader.of(json, file);
  const vision = parseQwen3Vision(reader.section('vision_config'));
  const textReader = reader.section('text_config');
  const text = parseText(reader, textReader, variant);
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
    imageTokenId: reader.integer('image_token_id', 151_655, 0),
  };
}
