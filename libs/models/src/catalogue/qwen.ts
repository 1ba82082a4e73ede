/** Ids of the special tokens that every Qwen-VL configuration names. */
const tokens = { bos_token_id: 151643, eos_token_id: 151645 };
const visionTokens = {
  vision_start_token_id: 151652,
  vision_end_token_id: 151653,
  image_token_id: 151655,
  video_token_id: 151656,
};

/** Common fields of the decoders of Qwen2-VL and Qwen2.5-VL, at the top level of config.json. */
const qwen2Text = {
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

const patches14 = { in_chans: 3, patch_size: 14, spatial_merge_size: 2, spatial_patch_size: 14 };

interface Qwen3Size {
  hidden: number;
  intermediate: number;
  layers: number;
  heads: number;
}

const qwen3Tower = {
  deepstack_visual_indexes: [5, 11, 17],
  depth: 24,
  hidden_size: 1024,
  intermediate_size: 4096,
};

function qwen3Vl({ hidden, intermediate, layers, heads }: Qwen3Size): Record<string, unknown> {
  return {
    architectures: ['Qwen3VLForConditionalGeneration'],
    model_type: 'qwen3_vl',
    ...visionTokens,
    tie_word_embeddings: true,
    text_config: {
      ...tokens,
      model_type: 'qwen3_vl_text',
      attention_bias: false,
      attention_dropout: 0,
      head_dim: 128,
      hidden_act: 'silu',
      hidden_size: hidden,
      initializer_range: 0.02,
      intermediate_size: intermediate,
      max_position_embeddings: 262144,
      num_attention_heads: heads,
      num_hidden_layers: layers,
      num_key_value_heads: 8,
      rms_norm_eps: 1e-6,
      rope_scaling: { mrope_interleaved: true, mrope_section: [24, 20, 20], rope_type: 'default' },
      rope_theta: 5_000_000,
      tie_word_embeddings: true,
      use_cache: true,
      vocab_size: 151936,
    },
    vision_config: {
      model_type: 'qwen3_vl',
      ...qwen3Tower,
      hidden_act: 'gelu_pytorch_tanh',
      in_channels: 3,
      initializer_range: 0.02,
      num_heads: 16,
      num_position_embeddings: 2304,
      out_hidden_size: hidden,
      patch_size: 16,
      spatial_merge_size: 2,
      temporal_patch_size: 2,
    },
  };
}

function qwen3VlMoe(): Record<string, unknown> {
  const dense = qwen3Vl({ hidden: 2048, intermediate: 6144, layers: 48, heads: 32 });
  const experts = {
    model_type: 'qwen3_vl_moe_text',
    num_key_value_heads: 4,
    decoder_sparse_step: 1,
    mlp_only_layers: [],
    moe_intermediate_size: 768,
    norm_topk_prob: true,
    num_experts: 128,
    num_experts_per_tok: 8,
    tie_word_embeddings: false,
  };
  const tower = {
    deepstack_visual_indexes: [8, 16, 24],
    depth: 27,
    hidden_size: 1152,
    intermediate_size: 4304,
  };
  return {
    ...dense,
    architectures: ['Qwen3VLMoeForConditionalGeneration'],
    model_type: 'qwen3_vl_moe',
    tie_word_embeddings: false,
    text_config: { ...(dense.text_config as object), ...experts },
    vision_config: { ...(dense.vision_config as object), model_type: 'qwen3_vl_moe', ...tower },
  };
}

interface Qwen35Size {
  hidden: number;
  intermediate: number;
  layers: number;
  heads: number;
  kvHeads: number;
  /** value heads of linear-attention layers */
  valueHeads: number;
  tower: { depth: number; hidden_size: number; intermediate_size: number; num_heads: number };
}

/** Three layers of linear attention, then one of softmax attention. */
function qwen35Layers(layers: number): string[] {
  return Array.from({ length: layers }, (_, i) => (i % 4 === 3 ? 'full_attention' : 'linear_attention'));
}

function qwen35({ tower, ...size }: Qwen35Size): Record<string, unknown> {
  return {
    architectures: ['Qwen3_5ForConditionalGeneration'],
    model_type: 'qwen3_5',
    image_token_id: 248056,
    video_token_id: 248057,
    vision_start_token_id: 248053,
    vision_end_token_id: 248054,
    tie_word_embeddings: true,
    text_config: {
      model_type: 'qwen3_5_text',
      eos_token_id: 248044,
      attention_bias: false,
      attention_dropout: 0,
      attn_output_gate: true,
      full_attention_interval: 4,
      head_dim: 256,
      hidden_act: 'silu',
      hidden_size: size.hidden,
      initializer_range: 0.02,
      intermediate_size: size.intermediate,
      layer_types: qwen35Layers(size.layers),
      linear_conv_kernel_dim: 4,
      linear_key_head_dim: 128,
      linear_num_key_heads: 16,
      linear_num_value_heads: size.valueHeads,
      linear_value_head_dim: 128,
      max_position_embeddings: 262144,
      num_attention_heads: size.heads,
      num_hidden_layers: size.layers,
      num_key_value_heads: size.kvHeads,
      rms_norm_eps: 1e-6,
      rope_parameters: {
        mrope_interleaved: true,
        mrope_section: [11, 11, 10],
        partial_rotary_factor: 0.25,
        rope_theta: 10_000_000,
        rope_type: 'default',
      },
      tie_word_embeddings: true,
      use_cache: true,
      vocab_size: 248320,
    },
    vision_config: {
      model_type: 'qwen3_5_vision',
      ...tower,
      deepstack_visual_indexes: [],
      hidden_act: 'gelu_pytorch_tanh',
      in_channels: 3,
      initializer_range: 0.02,
      num_position_embeddings: 2304,
      out_hidden_size: size.hidden,
      patch_size: 16,
      spatial_merge_size: 2,
      temporal_patch_size: 2,
    },
  };
}

function qwen35Moe(): Record<string, unknown> {
  const tower = { depth: 27, hidden_size: 1152, intermediate_size: 4304, num_heads: 16 };
  const size = { hidden: 2048, intermediate: 1, layers: 40, heads: 16, kvHeads: 2, valueHeads: 32, tower };
  const dense = qwen35(size);
  const { intermediate_size: _, ...text } = dense.text_config as Record<string, unknown>;
  const experts = {
    model_type: 'qwen3_5_moe_text',
    moe_intermediate_size: 512,
    num_experts: 256,
    num_experts_per_tok: 8,
    shared_expert_intermediate_size: 512,
    tie_word_embeddings: false,
  };
  return {
    ...dense,
    architectures: ['Qwen3_5MoeForConditionalGeneration'],
    model_type: 'qwen3_5_moe',
    tie_word_embeddings: false,
    text_config: { ...text, ...experts },
    vision_config: { ...(dense.vision_config as object), model_type: 'qwen3_5_moe_vision' },
  };
}

/** Configurations of the Qwen-VL families by hub id. */
export const qwenConfigs: Record<string, Record<string, unknown>> = {
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
  'Qwen/Qwen3-VL-2B-Instruct': qwen3Vl({ hidden: 2048, intermediate: 6144, layers: 28, heads: 16 }),
  'Qwen/Qwen3-VL-4B-Instruct': qwen3Vl({ hidden: 2560, intermediate: 9728, layers: 36, heads: 32 }),
  'Qwen/Qwen3-VL-30B-A3B-Instruct': qwen3VlMoe(),
  'Qwen/Qwen3.5-0.8B': qwen35({
    hidden: 1024,
    intermediate: 3584,
    layers: 24,
    heads: 8,
    kvHeads: 2,
    valueHeads: 16,
    tower: { depth: 12, hidden_size: 768, intermediate_size: 3072, num_heads: 12 },
  }),
  'Qwen/Qwen3.5-4B': qwen35({
    hidden: 2560,
    intermediate: 9216,
    layers: 32,
    heads: 16,
    kvHeads: 4,
    valueHeads: 32,
    tower: { depth: 24, hidden_size: 1024, intermediate_size: 4096, num_heads: 16 },
  }),
  'Qwen/Qwen3.5-35B-A3B': qwen35Moe(),
};
