import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseTextConfig } from '../common/llama-text';
import { parseSiglip, type SiglipConfig } from '../common/siglip-config';

export const visionPrefix = 'model.vision_model';
const textPrefix = 'model.text_model';

export interface Idefics3Config {
  text: DecoderConfig;
  vision: SiglipConfig;
  /** `scale_factor`: number of patches per axis that become one token */
  scaleFactor: number;
  imageTokenId: number;
}

/** Defaults of `vision_config`; the folders of SmolVLM omit most fields. */
const visionDefaults = {
  hiddenSize: 1152,
  intermediateSize: 3072,
  layers: 12,
  heads: 16,
  imageSize: 224,
  patchSize: 32,
};

/**
 * Reads the config.json of an Idefics3 or a SmolVLM.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseIdefics3Config(json: unknown, file: string): Idefics3Config {
  const reader = ConfigReader.of(json, file);
  return {
    text: parseTextConfig(reader, { prefix: textPrefix, modelType: 'llama' }),
    vision: parseSiglip(reader.section('vision_config'), visionDefaults, { prefix: visionPrefix }),
    scaleFactor: reader.integer('scale_factor', 2),
    imageTokenId: reader.integer('image_token_id', 128_257, 0),
  };
}
