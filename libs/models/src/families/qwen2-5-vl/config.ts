import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseQwen2Text } from '../common/qwen2-text';
import type { PatchTowerSize } from '../common/patch-attention';

/** Vision tower of Qwen2.5-VL. */
export interface Qwen25VisionConfig extends PatchTowerSize {
  /** side of an attention window in tokens, that is, in blocks of mergeSize × mergeSize patches */
  windowTokens: number;
  /** layers that attend to the whole image */
  fullAttentionLayers: number[];
}

export interface Qwen25VlConfig {
  text: DecoderConfig;
  vision: Qwen25VisionConfig;
  imageTokenId: number;
}

function parseVision(reader: ConfigReader): Qwen25VisionConfig {
  const hiddenSize = reader.integer('hidden_size', 3584);
  const heads = reader.integer('num_heads', 16);
  if (hiddenSize % (heads * 4) !== 0) {
    throw reader.error('hidden_size', `a multiple of 4 · num_heads = ${heads * 4}`);
  }
  reader.oneOf('hidden_act', ['silu'], 'silu');
  const rope = reader.has('rope_parameters') ? reader.section('rope_parameters') : reader;
  const patchSize = reader.integer('patch_size', 14);
  const mergeSize = reader.integer('spatial_merge_size', 2);
  const windowTokens = Math.floor(reader.integer('window_size', 112) / mergeSize / patchSize);
  if (windowTokens < 1) {
    throw reader.error(
      'window_size',
      `at least patch_size · spatial_merge_size = ${patchSize * mergeSize} pixels`,
    );
  }
  return {
    depth: reader.layers('depth', 32),
    hiddenSize,
    intermediateSize: reader.integer('intermediate_size', 3420),
    heads,
    headDim: hiddenSize / heads,
    inChannels: reader.integer(reader.has('in_chans') ? 'in_chans' : 'in_channels', 3),
    patchSize,
    temporalPatchSize: reader.integer('temporal_patch_size', 2),
    mergeSize,
    outHiddenSize: reader.integer('out_hidden_size', 3584),
    ropeTheta: rope.number('rope_theta', 10_000),
    windowTokens,
    fullAttentionLayers: reader.has('fullatt_block_indexes')
      ? reader.integers('fullatt_block_indexes')
      : [7, 15, 23, 31],
  };
}

/**
 * Reads the config.json of a Qwen2.5-VL, in the form of the original folders or of transformers 5.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseQwen25VlConfig(json: unknown, file: string): Qwen25VlConfig {
  const reader = ConfigReader.of(json, file);
  const text = parseQwen2Text(reader);
  const visionReader = reader.section('vision_config');
  const vision = parseVision(visionReader);
  if (vision.outHiddenSize !== text.hiddenSize) {
    throw visionReader.error('out_hidden_size', `the text model's hidden_size = ${text.hiddenSize}`);
  }
  return { text, vision, imageTokenId: reader.integer('image_token_id', 151_655, 0) };
}
