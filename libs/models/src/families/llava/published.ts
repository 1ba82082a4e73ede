type Json = Record<string, unknown>;

const vicuna = {
  model_type: 'llama',
  hidden_act: 'silu',
  hidden_size: 4096,
  intermediate_size: 11008,
  max_position_embeddings: 4096,
  num_attention_heads: 32,
  num_hidden_layers: 32,
  num_key_value_heads: 32,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  vocab_size: 32064,
};

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'llava-hf/llava-1.5-7b-hf': {
    architectures: ['LlavaForConditionalGeneration'],
    model_type: 'llava',
    image_token_index: 32000,
    pad_token_id: 32001,
    image_seq_length: 576,
    projector_hidden_act: 'gelu',
    tie_word_embeddings: false,
    vision_feature_layer: -2,
    vision_feature_select_strategy: 'default',
    text_config: vicuna,
    vision_config: {
      model_type: 'clip_vision_model',
      hidden_act: 'quick_gelu',
      hidden_size: 1024,
      image_size: 336,
      intermediate_size: 4096,
      layer_norm_eps: 1e-5,
      num_attention_heads: 16,
      num_channels: 3,
      num_hidden_layers: 24,
      patch_size: 14,
      projection_dim: 768,
    },
  },
};
