import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseQwen2Text } from '../common/qwen2-text';
import type { PatchTowerSize } from '../common/patch-attention';

export interface Qwen2VlConfig {
  text: DecoderConfig;
  vision: PatchTowerSize;
  imageTokenId: number;
}

function parseVision(reader: ConfigReader): PatchTowerSize {
  const hiddenSize = reader.integer('embed_dim', 1280);
  const heads = reader.integer('num_heads', 16);
  if (hiddenSize % (heads * 4) !== 0) {
    throw reader.error('embed_dim', `a multiple of 4 · num_heads = ${heads * 4}`);
  }
  reader.oneOf('hidden_act', ['quick_gelu'], 'quick_gelu');
  const rope = reader.has('rope_parameters') ? reader.section('rope_parameters') : reader;
  return {
    depth: reader.layers('depth', 32),
    hiddenSize,
    intermediateSize: hiddenSize * reader.integer('mlp_ratio', 4),
    heads,
    headDim: hiddenSize / heads,
    inChannels: reader.integer(reader.has('in_chans') ? 'in_chans' : 'in_channels', 3),
    patchSize: reader.integer('patch_size', 14),
    temporalPatchSize: reader.integer('temporal_patch_size', 2),
    mergeSize: reader.integer('spatial_merge_size', 2),
    outHiddenSize: reader.integer('hidden_size', 3584),
    ropeTheta: rope.number('rope_theta', 10_000),
  };
}

/**
 * Reads the config.json of a Qwen2-VL, in the form of the original folders or of transformers 5.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseQwen2VlConfig(json: unknown, file: string): Qwen2VlConfig {
  const reader = ConfigReader.of(json, file);
  const text = parseQwen2Text(reader);
  const visionReader = reader.section('vision_config');
  const vision = parseVision(visionReader);
  if (vision.outHiddenSize !== text.hiddenSize) {
    throw visionReader.error('hidden_size', `the text model's hidden_size = ${text.hiddenSize}`);
  }
  return { text, vision, imageTokenId: reader.integer('image_token_id', 151_655, 0) };
}
