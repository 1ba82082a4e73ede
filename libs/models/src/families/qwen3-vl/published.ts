import { tokens, visionTokens } from '../common/qwen-published';

type Json = Record<string, unknown>;

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

export function qwen3VlConfig({ hidden, intermediate, layers, heads }: Qwen3Size): Record<string, unknown> {
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

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'Qwen/Qwen3-VL-2B-Instruct': qwen3VlConfig({ hidden: 2048, intermediate: 6144, layers: 28, heads: 16 }),
  'Qwen/Qwen3-VL-4B-Instruct': qwen3VlConfig({ hidden: 2560, intermediate: 9728, layers: 36, heads: 32 }),
};
