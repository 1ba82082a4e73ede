import { qwen2Half } from '../common/published';

type Json = Record<string, unknown>;

/** InternViT with 300 million parameters. */
const internVit300m = {
  model_type: 'internvl_vision',
  attention_bias: true,
  hidden_act: 'gelu',
  hidden_size: 1024,
  image_size: [448, 448],
  intermediate_size: 4096,
  layer_norm_eps: 1e-6,
  norm_type: 'layer_norm',
  num_attention_heads: 16,
  num_channels: 3,
  num_hidden_layers: 24,
  patch_size: [14, 14],
  use_absolute_position_embeddings: true,
  use_mask_token: false,
  use_mean_pooling: true,
  use_qk_norm: false,
};

const internVl = {
  architectures: ['InternVLForConditionalGeneration'],
  model_type: 'internvl',
  downsample_ratio: 0.5,
  image_seq_length: 256,
  projector_hidden_act: 'gelu',
  tie_word_embeddings: false,
  vision_feature_layer: -1,
  vision_feature_select_strategy: 'default',
  vision_config: internVit300m,
};

const qwen3Small = {
  model_type: 'qwen3',
  bos_token_id: 151643,
  eos_token_id: 151645,
  head_dim: 128,
  hidden_act: 'silu',
  hidden_size: 1024,
  intermediate_size: 3072,
  max_position_embeddings: 40960,
  num_attention_heads: 16,
  num_hidden_layers: 28,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
  tie_word_embeddings: false,
  use_sliding_window: false,
  vocab_size: 151936,
};

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'OpenGVLab/InternVL3-1B-hf': {
    ...internVl,
    image_token_id: 151667,
    text_config: {
      ...qwen2Half,
      rope_scaling: { rope_type: 'dynamic', factor: 2 },
      tie_word_embeddings: false,
      vocab_size: 151674,
    },
  },
  'OpenGVLab/InternVL3_5-1B-HF': { ...internVl, image_token_id: 151671, text_config: qwen3Small },
};
