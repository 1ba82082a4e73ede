import { ConfigReader } from '../../config-reader';
import type { DecoderConfig } from '../common/decoder-config';
import { parseTextConfig } from '../common/llama-text';
import { featuresPerPicture, parseLlavaVision, type LlavaVision } from '../common/llava-vision';

export interface LlavaOneVisionConfig {
  text: DecoderConfig;
  vision: LlavaVision;
  /** features of an image's tiles are downsampled to about those of this many tiles */
  maxTiles: number;
  imageTokenId: number;
}

/**
 * Reads the config.json of a LLaVA-OneVision. Its `image_grid_pinpoints` are those of its image processor, which
 * reports how each image was tiled.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseLlavaOneVisionConfig(json: unknown, file: string): LlavaOneVisionConfig {
  const reader = ConfigReader.of(json, file);
  const text = parseTextConfig(reader, { prefix: 'model.language_model', modelType: 'qwen2' });
  const vision = parseLlavaVision(reader, text.hiddenSize, { featureLayer: -1, selects: 'full' });
  if (featuresPerPicture(vision) !== vision.tower.side ** 2) {
    throw reader.error(
      'vision_feature_select_strategy',
      `one feature per patch: "${vision.kind === 'clip' ? 'default' : 'full'}" with this vision tower`,
    );
  }
  const ratio = /^anyres_max_([1-9]\d*)$/.exec(reader.string('vision_aspect_ratio', 'anyres_max_9'));
  if (ratio === null) throw reader.error('vision_aspect_ratio', 'anyres_max_ and a number of tiles');
  return {
    text,
    vision,
    maxTiles: Number(ratio[1]),
    imageTokenId: reader.integer(
      reader.has('image_token_id') ? 'image_token_id' : 'image_token_index',
      151_646,
      0,
    ),
  };
}
