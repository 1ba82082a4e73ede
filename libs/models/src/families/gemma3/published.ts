type Json = Record<string, unknown>;

/**
 * config.json of published models, by hub id. The values equal those of a public copy (mlx-community/gemma-3-4b-it-bf16).
 * They omit what has the default of transformers, such as `vocab_size`, heads and `rope_theta`.
 */
export const published: Readonly<Record<string, Json>> = {
  'google/gemma-3-4b-it': {
    architectures: ['Gemma3ForConditionalGeneration'],
    model_type: 'gemma3',
    boi_token_index: 255999,
    eoi_token_index: 256000,
    eos_token_id: [1, 106],
    image_token_index: 262144,
    mm_tokens_per_image: 256,
    text_config: {
      model_type: 'gemma3_text',
      hidden_size: 2560,
      intermediate_size: 10240,
      num_hidden_layers: 34,
      rope_scaling: { factor: 8, rope_type: 'linear' },
      sliding_window: 1024,
    },
    vision_config: {
      model_type: 'siglip_vision_model',
      hidden_size: 1152,
      image_size: 896,
      intermediate_size: 4304,
      num_attention_heads: 16,
      num_hidden_layers: 27,
      patch_size: 14,
      vision_use_head: false,
    },
  },
};
