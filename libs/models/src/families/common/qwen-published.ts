/** Ids of the special tokens that every Qwen-VL configuration names. */
export const tokens = { bos_token_id: 151643, eos_token_id: 151645 };
export const visionTokens = {
  vision_start_token_id: 151652,
  vision_end_token_id: 151653,
  image_token_id: 151655,
  video_token_id: 151656,
};

/** Common fields of the decoders of Qwen2-VL and Qwen2.5-VL, at the top level of config.json. */
export const qwen2Text = {
  ...tokens,
  ...visionTokens,
  vision_token_id: 151654,
  attention_dropout: 0,
  hidden_act: 'silu',
  initializer_range: 0.02,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
  rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
  use_sliding_window: false,
  sliding_window: 32768,
  tie_word_embeddings: true,
  use_cache: true,
  vocab_size: 151936,
};

export const patches14 = { in_chans: 3, patch_size: 14, spatial_merge_size: 2, spatial_patch_size: 14 };
