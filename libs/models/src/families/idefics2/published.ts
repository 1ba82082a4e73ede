import { siglip400m } from '../common/published';

type Json = Record<string, unknown>;

const mistral = {
  model_type: 'mistral',
  hidden_act: 'silu',
  hidden_size: 4096,
  intermediate_size: 14336,
  max_position_embeddings: 32768,
  num_attention_heads: 32,
  num_hidden_layers: 32,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  sliding_window: null,
  tie_word_embeddings: false,
  vocab_size: 32003,
};

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'HuggingFaceM4/idefics2-8b': {
    architectures: ['Idefics2ForConditionalGeneration'],
    model_type: 'idefics2',
    image_token_id: 32001,
    tie_word_embeddings: false,
    text_config: mistral,
    vision_config: { model_type: 'idefics2', ...siglip400m, image_size: 980, num_hidden_layers: 27 },
    perceiver_config: {
      model_type: 'idefics2',
      hidden_act: 'silu',
      resampler_n_latents: 64,
      resampler_depth: 3,
      resampler_n_heads: 16,
      resampler_head_dim: 96,
      num_key_value_heads: 4,
    },
  },
};
