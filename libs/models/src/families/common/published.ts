/** Qwen2 with half a billion parameters. */
export const qwen2Half = {
  model_type: 'qwen2',
  bos_token_id: 151643,
  eos_token_id: 151645,
  hidden_act: 'silu',
  hidden_size: 896,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
  tie_word_embeddings: true,
  use_sliding_window: false,
  vocab_size: 152000,
};

/** The SigLIP tower with 400 million parameters. */
export const siglip400m = {
  hidden_act: 'gelu_pytorch_tanh',
  hidden_size: 1152,
  intermediate_size: 4304,
  layer_norm_eps: 1e-6,
  num_attention_heads: 16,
  num_channels: 3,
  patch_size: 14,
};
