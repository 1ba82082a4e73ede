import { qwen2Half, siglip400m } from '../common/published';

type Json = Record<string, unknown>;

/** Whole multiples of 384-pixel tiles, up to 6 × 6. */
const pinpoints = Array.from({ length: 36 }, (_, index) => [
  384 * (1 + Math.floor(index / 6)),
  384 * (1 + (index % 6)),
]);

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'llava-hf/llava-onevision-qwen2-0.5b-ov-hf': {
    architectures: ['LlavaOnevisionForConditionalGeneration'],
    model_type: 'llava_onevision',
    image_token_index: 151646,
    video_token_index: 151647,
    image_grid_pinpoints: pinpoints,
    projector_hidden_act: 'gelu',
    tie_word_embeddings: true,
    vision_aspect_ratio: 'anyres_max_9',
    vision_feature_layer: -1,
    vision_feature_select_strategy: 'full',
    text_config: qwen2Half,
    vision_config: {
      model_type: 'siglip_vision_model',
      ...siglip400m,
      image_size: 384,
      num_hidden_layers: 26,
      vision_use_head: false,
    },
  },
};
