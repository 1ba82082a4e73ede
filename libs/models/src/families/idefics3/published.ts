import { siglip400m } from '../common/published';

type Json = Record<string, unknown>;

const smolLm = {
  model_type: 'llama',
  bos_token_id: 1,
  eos_token_id: 2,
  hidden_act: 'silu',
  hidden_size: 576,
  intermediate_size: 1536,
  max_position_embeddings: 8192,
  num_attention_heads: 9,
  num_hidden_layers: 30,
  num_key_value_heads: 3,
  head_dim: 64,
  rms_norm_eps: 1e-5,
  rope_theta: 100_000,
  tie_word_embeddings: false,
  vocab_size: 49280,
};

const smolTower = {
  hidden_act: 'gelu_pytorch_tanh',
  hidden_size: 768,
  image_size: 512,
  intermediate_size: 3072,
  layer_norm_eps: 1e-6,
  num_attention_heads: 12,
  num_channels: 3,
  num_hidden_layers: 12,
  patch_size: 16,
};

const llama31 = {
  model_type: 'llama',
  hidden_act: 'silu',
  hidden_size: 4096,
  intermediate_size: 14336,
  max_position_embeddings: 131072,
  num_attention_heads: 32,
  num_hidden_layers: 32,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-5,
  rope_theta: 500_000,
  rope_scaling: {
    rope_type: 'llama3',
    factor: 8,
    high_freq_factor: 4,
    low_freq_factor: 1,
    original_max_position_embeddings: 8192,
  },
  tie_word_embeddings: false,
  vocab_size: 128259,
};

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'HuggingFaceTB/SmolVLM-256M-Instruct': {
    architectures: ['Idefics3ForConditionalGeneration'],
    model_type: 'idefics3',
    image_token_id: 49190,
    pad_token_id: 2,
    scale_factor: 4,
    tie_word_embeddings: false,
    text_config: smolLm,
    vision_config: { model_type: 'idefics3_vision', ...smolTower },
  },
  'HuggingFaceTB/SmolVLM2-256M-Video-Instruct': {
    architectures: ['SmolVLMForConditionalGeneration'],
    model_type: 'smolvlm',
    image_token_id: 49190,
    pad_token_id: 2,
    scale_factor: 4,
    tie_word_embeddings: false,
    text_config: smolLm,
    vision_config: { model_type: 'smolvlm_vision', ...smolTower },
  },
  'HuggingFaceM4/Idefics3-8B-Llama3': {
    architectures: ['Idefics3ForConditionalGeneration'],
    model_type: 'idefics3',
    image_token_id: 128257,
    pad_token_id: 128002,
    scale_factor: 2,
    tie_word_embeddings: false,
    text_config: llama31,
    vision_config: { model_type: 'idefics3_vision', ...siglip400m, image_size: 364, num_hidden_layers: 27 },
  },
};
