/** The size of the small default model: the Qwen3-VL architecture with 3 million parameters. */
export interface SmallModelSize {
  visionWidth: number;
  visionLayers: number;
  textWidth: number;
  textLayers: number;
}

export const DEFAULT_SIZE: SmallModelSize = {
  visionWidth: 128,
  visionLayers: 3,
  textWidth: 192,
  textLayers: 4,
};

const VISION_HEADS = 4;
const TEXT_HEADS = 6;
const TEXT_KV_HEADS = 3;
const HEAD_DIM = 32;

/** config.json of a standard `qwen3_vl` folder for a vocabulary built by `buildSmallTokenizer`. */
export function smallModelConfig(
  size: SmallModelSize,
  vocabulary: ReadonlyMap<string, number>,
  viewport: { width: number; height: number },
): Record<string, unknown> {
  const id = (token: string) => vocabulary.get(token)!;
  const positions = Math.max(viewport.width, viewport.height) / 16;
  return {
    architectures: ['Qwen3VLForConditionalGeneration'],
    model_type: 'qwen3_vl',
    tie_word_embeddings: true,
    image_token_id: id('<|image_pad|>'),
    video_token_id: id('<|video_pad|>'),
    vision_start_token_id: id('<|vision_start|>'),
    vision_end_token_id: id('<|vision_end|>'),
    text_config: {
      model_type: 'qwen3_vl_text',
      vocab_size: vocabulary.size,
      hidden_size: size.textWidth,
      intermediate_size: Math.round((size.textWidth * 8) / 3 / 32) * 32,
      num_hidden_layers: size.textLayers,
      num_attention_heads: TEXT_HEADS,
      num_key_value_heads: TEXT_KV_HEADS,
      head_dim: HEAD_DIM,
      hidden_act: 'silu',
      rms_norm_eps: 1e-6,
      attention_bias: false,
      attention_dropout: 0,
      max_position_embeddings: 4096,
      tie_word_embeddings: true,
      pad_token_id: id('<|endoftext|>'),
      bos_token_id: id('<|endoftext|>'),
      eos_token_id: id('<|im_end|>'),
      rope_theta: 5_000_000,
      rope_scaling: { rope_type: 'default', mrope_interleaved: true, mrope_section: [6, 5, 5] },
    },
    vision_config: {
      model_type: 'qwen3_vl',
      depth: size.visionLayers,
      hidden_size: size.visionWidth,
      intermediate_size: 4 * size.visionWidth,
      num_heads: VISION_HEADS,
      in_channels: 3,
      patch_size: 16,
      temporal_patch_size: 2,
      spatial_merge_size: 2,
      out_hidden_size: size.textWidth,
      num_position_embeddings: positions * positions,
      deepstack_visual_indexes: [],
      hidden_act: 'gelu_pytorch_tanh',
    },
  };
}

/** Parts of the `json` action format that are one token each: an answer has 5 to 8 tokens. */
export const ACTION_PIECES = [
  '{"action":"',
  ...['click', 'type', 'scroll', 'finish', 'button', 'key', 'wait', 'swipe', 'drag', 'long_press'],
  '","x":',
  ',"y":',
  '}',
  '","text":"',
  '"}',
  '","direction":"',
  ...['up', 'down', 'left', 'right'],
  '","amount":1}',
  '","amount":',
  '","success":',
  '","success":true}',
  '","success":false}',
  '","button":"',
  ...['back', 'home', 'menu', 'recents'],
  '","seconds":',
];
