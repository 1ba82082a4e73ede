import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseTextConfig } from '../common/llama-text';
import { parseLlavaVision, type LlavaVision } from '../common/llava-vision';

export interface LlavaConfig {
  text: DecoderConfig;
  vision: LlavaVision;
  imageTokenId: number;
}

/**
 * Reads the config.json of a LLaVA 1.5.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseLlavaConfig(json: unknown, file: string): LlavaConfig {
  const reader = ConfigReader.of(json, file);
  const text = parseTextConfig(reader, { prefix: 'model.language_model', modelType: 'llama' });
  return {
    text,
    vision: parseLlavaVision(reader, text.hiddenSize, { featureLayer: -2, selects: 'default' }),
    imageTokenId: reader.integer(
      reader.has('image_token_id') ? 'image_token_id' : 'image_token_index',
      32_000,
      0,
    ),
  };
}
