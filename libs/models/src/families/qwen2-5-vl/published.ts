import { patches14, qwen2Text } from '../common/qwen-published';

type Json = Record<string, unknown>;

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'Qwen/Qwen2.5-VL-3B-Instruct': {
    architectures: ['Qwen2_5_VLForConditionalGeneration'],
    model_type: 'qwen2_5_vl',
    ...qwen2Text,
    hidden_size: 2048,
    intermediate_size: 11008,
    max_position_embeddings: 128000,
    max_window_layers: 70,
    num_attention_heads: 16,
    num_hidden_layers: 36,
    num_key_value_heads: 2,
    vision_config: {
      ...patches14,
      depth: 32,
      fullatt_block_indexes: [7, 15, 23, 31],
      hidden_act: 'silu',
      hidden_size: 1280,
      intermediate_size: 3420,
      num_heads: 16,
      out_hidden_size: 2048,
      temporal_patch_size: 2,
      tokens_per_second: 2,
      window_size: 112,
    },
  },
};
