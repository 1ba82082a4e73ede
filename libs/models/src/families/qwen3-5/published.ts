type Json = Record<string, unknown>;

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

export function qwen35Config({ tower, ...size }: Qwen35Size): Record<string, unknown> {
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

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'Qwen/Qwen3.5-0.8B': qwen35Config({
    hidden: 1024,
    intermediate: 3584,
    layers: 24,
    heads: 8,
    kvHeads: 2,
    valueHeads: 16,
    tower: { depth: 12, hidden_size: 768, intermediate_size: 3072, num_heads: 12 },
  }),
  'Qwen/Qwen3.5-4B': qwen35Config({
    hidden: 2560,
    intermediate: 9216,
    layers: 32,
    heads: 16,
    kvHeads: 4,
    valueHeads: 32,
    tower: { depth: 24, hidden_size: 1024, intermediate_size: 4096, num_heads: 16 },
  }),
};
