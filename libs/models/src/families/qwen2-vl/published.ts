import { patches14, qwen2Text } from '../common/qwen-published';

type Json = Record<string, unknown>;

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'Qwen/Qwen2-VL-2B-Instruct': {
    architectures: ['Qwen2VLForConditionalGeneration'],
    model_type: 'qwen2_vl',
    ...qwen2Text,
    hidden_size: 1536,
    intermediate_size: 8960,
    max_position_embeddings: 32768,
    max_window_layers: 28,
    num_attention_heads: 12,
    num_hidden_layers: 28,
    num_key_value_heads: 2,
    vision_config: {
      ...patches14,
      depth: 32,
      embed_dim: 1280,
      mlp_ratio: 4,
      num_heads: 16,
      hidden_size: 1536,
      temporal_patch_size: 2,
    },
  },
};
