import { buildSmallTokenizer, type SmallTokenizer } from '@ui-rl/models';

/** Pixels of a patch, and patches of an image token, per axis. */
export const PATCH_SIZE = 8;
export const MERGE_SIZE = 2;
/** Coordinates up to this value form one token with the text before them. */
const LARGEST_COORDINATE = 511;
const TEXT_WIDTH = 256;
const TEXT_LAYERS = 6;
const HEAD_DIM = 32;
const TEXT_HEADS = 8;
const TEXT_KEY_HEADS = 4;
export const DECODER_SHAPE = {
  width: TEXT_WIDTH,
  headDim: HEAD_DIM,
  heads: TEXT_HEADS,
  keyHeads: TEXT_KEY_HEADS,
};
export const VISION_WIDTH = 160;
const VISION_LAYERS = 5;
export const VISION_HEADS = 5;
/** Rows and columns of the learned position table, which is interpolated to each image. */
const POSITIONS = 24;

/**
 * Parts of the `json` action format that are one token each: a click is an action, an x and a y. Texts, keys and all
 * other numbers are spelled in bytes.
 */
export function actionPieces(): string[] {
  const pieces = [
    ...['click', 'double_click', 'right_click', 'middle_click', 'move', 'long_press'].map(
      (name) => `{"action":"${name}",`,
    ),
    '{"action":"type","text":"',
    '{"action":"answer","text":"',
    '"}',
    '{"action":"key","keys":["',
    '","',
    '"]}',
    '{"action":"drag","from":{',
    ',"to":{',
    '}',
    '{"action":"wait","seconds":',
    '{"action":"finish","success":true}',
    '{"action":"finish","success":false}',
    '"x":',
    ',"y":',
  ];
  for (const direction of ['up', 'down', 'left', 'right']) {
    pieces.push(`{"action":"scroll","direction":"${direction}",`);
  }
  for (let amount = 1; amount <= 10; amount++) pieces.push(`"amount":${amount},`, `"amount":${amount}}`);
  // In every action, y is the last field of an object.
  for (let place = 0; place <= LARGEST_COORDINATE; place++) pieces.push(`"x":${place}`, `,"y":${place}}`);
  return pieces;
}

/** A tokenizer that encodes text as bytes; only the action format has dedicated tokens. */
export function generalTokenizer(): SmallTokenizer {
  return buildSmallTokenizer([], actionPieces(), {
    largestNumber: 9,
    patchSize: PATCH_SIZE,
    mergeSize: MERGE_SIZE,
  });
}

/** config.json of the general small model: `qwen3_vl`, 7 million weights. */
export function generalModelConfig(vocabulary: ReadonlyMap<string, number>): Record<string, unknown> {
  const id = (token: string) => vocabulary.get(token)!;
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
      hidden_size: TEXT_WIDTH,
      intermediate_size: 704,
      num_hidden_layers: TEXT_LAYERS,
      num_attention_heads: TEXT_HEADS,
      num_key_value_heads: TEXT_KEY_HEADS,
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
      rope_theta: 10_000,
      rope_scaling: { rope_type: 'default', mrope_interleaved: true, mrope_section: [6, 5, 5] },
    },
    vision_config: {
      model_type: 'qwen3_vl',
      depth: VISION_LAYERS,
      hidden_size: VISION_WIDTH,
      intermediate_size: 4 * VISION_WIDTH,
      num_heads: VISION_HEADS,
      in_channels: 3,
      patch_size: PATCH_SIZE,
      temporal_patch_size: 2,
      spatial_merge_size: MERGE_SIZE,
      out_hidden_size: TEXT_WIDTH,
      num_position_embeddings: POSITIONS * POSITIONS,
      deepstack_visual_indexes: [],
      hidden_act: 'gelu_pytorch_tanh',
    },
    dtype: 'float32',
  };
}
