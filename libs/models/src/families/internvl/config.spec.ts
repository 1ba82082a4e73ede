import { namesInFiles } from '../common/names-in-files';
import { familyOf } from '../registry';
import { parseInternVlConfig } from './config';

/** From the folder of InternVL3-1B-hf (shortened). */
const original = {
  architectures: ['InternVLForConditionalGeneration'],
  downsample_ratio: 0.5,
  image_seq_length: 256,
  image_token_id: 151667,
  model_type: 'internvl',
  projector_hidden_act: 'gelu',
  text_config: {
    architectures: ['Qwen2ForCausalLM'],
    hidden_size: 896,
    intermediate_size: 4864,
    max_position_embeddings: 32768,
    model_type: 'qwen2',
    num_attention_heads: 14,
    num_hidden_layers: 24,
    num_key_value_heads: 2,
    rope_scaling: { factor: 2.0, rope_type: 'dynamic', type: 'dynamic' },
    rope_theta: 1000000.0,
    vocab_size: 151674,
  },
  vision_config: {
    architectures: ['InternVisionModel'],
    attention_bias: true,
    hidden_size: 1024,
    image_size: [448, 448],
    intermediate_size: 4096,
    layer_norm_eps: 1e-6,
    model_type: 'internvl_vision',
    norm_type: 'layer_norm',
    num_attention_heads: 16,
    num_hidden_layers: 24,
    patch_size: [14, 14],
    use_qk_norm: false,
  },
  vision_feature_layer: -1,
  vision_feature_select_strategy: 'default',
};

const withVision = (vision: object) => ({
  ...original,
  vision_config: { ...original.vision_config, ...vision },
});

test('reads the original form', () => {
  const { text, vision, imageTokenId } = parseInternVlConfig(original, 'config.json');
  expect(text).toMatchObject({ headDim: 64, qkvBias: true, qkNorm: false, maxPositions: 32_768 });
  expect(text.rope).toEqual({ theta: 1e6, sections: null, interleaved: false });
  expect(vision).toEqual({
    layers: 24,
    hiddenSize: 1024,
    intermediateSize: 4096,
    heads: 16,
    headDim: 64,
    inChannels: 3,
    patchSize: 14,
    side: 32,
    normType: 'layer_norm',
    normEps: 1e-6,
    qkvBias: true,
    qkNorm: false,
    finalNorm: false,
    mergeSize: 2,
    textSize: 896,
  });
  expect(imageTokenId).toBe(151_667);
});

test('reads the text model of InternVL3.5, and sizes given as one integer', () => {
  const text = { model_type: 'qwen3', hidden_size: 1024, num_attention_heads: 16, num_key_value_heads: 8 };
  const config = parseInternVlConfig(
    { ...withVision({ image_size: 448, patch_size: 14 }), text_config: text },
    'f',
  );
  expect(config.text).toMatchObject({ headDim: 128, qkNorm: true, qkvBias: false });
  expect(config.vision).toMatchObject({ side: 32, patchSize: 14 });
});

test('reads InternViT-6B of the largest models', () => {
  const large = { hidden_size: 3200, num_attention_heads: 25, norm_type: 'rms_norm', use_qk_norm: true };
  const config = withVision({ ...large, attention_bias: false });
  const { vision } = parseInternVlConfig(config, 'f');
  expect(vision).toMatchObject({ headDim: 128, normType: 'rms_norm', qkNorm: true, qkvBias: false });
  const names = familyOf(config, 'f')
    .parameters()
    .map(({ name }) => name);
  const layer = 'model.vision_tower.encoder.layer.0';
  expect(names).toContain(`${layer}.attention.q_norm.weight`);
  expect(names).not.toContain(`${layer}.attention.q_proj.bias`);
  expect(names).not.toContain(`${layer}.layernorm_before.bias`);
});

test('finds weights under the names of every release', () => {
  const { checkpointName } = familyOf(original, 'f');
  const names = (name: string): string[] => namesInFiles(name, checkpointName);
  expect(names('lm_head.weight')).toEqual(['lm_head.weight', 'language_model.lm_head.weight']);
  expect(names('model.language_model.norm.weight')).toEqual([
    'model.language_model.norm.weight',
    'language_model.model.norm.weight',
    'language_model.norm.weight',
  ]);
  expect(names('model.vision_tower.embeddings.cls_token')).toEqual([
    'model.vision_tower.embeddings.cls_token',
    'vision_tower.embeddings.cls_token',
  ]);
  expect(names('model.multi_modal_projector.linear_1.bias')[1]).toBe('multi_modal_projector.linear_1.bias');
});

test.each([
  [withVision({ model_type: 'siglip_vision_model' }), /vision_config\.model_type: expected one of internvl/],
  [
    withVision({ image_size: [448, 336] }),
    /vision_config\.image_size: expected a positive integer, or two equal/,
  ],
  [withVision({ patch_size: [] }), /vision_config\.patch_size: expected a positive integer, or two equal/],
  [withVision({ image_size: 7 }), /vision_config\.image_size: expected at least patch_size = 14, found 7/],
  [withVision({ num_attention_heads: 15 }), /hidden_size: expected a multiple of num_attention_heads = 15/],
  [withVision({ norm_type: 'group_norm' }), /norm_type: expected one of layer_norm, rms_norm/],
  [withVision({ hidden_dropout_prob: 0.1 }), /hidden_dropout_prob: expected 0, found 0\.1/],
  [withVision({ use_mask_token: true }), /use_mask_token: expected false/],
  [
    withVision({ use_absolute_position_embeddings: false }),
    /use_absolute_position_embeddings: expected true/,
  ],
  [{ ...original, downsample_ratio: 0.4 }, /downsample_ratio: expected 1 divided by an integer, found 0\.4/],
  [{ ...original, downsample_ratio: 2 }, /downsample_ratio: expected 1 divided by an integer/],
  [{ ...original, vision_feature_layer: [-2, -1] }, /vision_feature_layer: expected -1, the last layer/],
  [{ ...original, vision_feature_select_strategy: 'full' }, /select_strategy: expected one of default/],
  [
    { ...original, text_config: { model_type: 'gpt_oss' } },
    /text_config\.model_type: expected one of .*qwen3/,
  ],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseInternVlConfig(config, 'dir/config.json')).toThrow(message);
});

describe('an image', () => {
  const family = familyOf(original, 'f');

  test('is a run of tokens between two marks', () => {
    const image = { grid: [7, 32, 32], tiles: [2, 3] } as const;
    expect(family.imageTokens(image)).toBe(7 * 256);
    expect(family.imageText(image, '<IMG_CONTEXT>')).toEqual({
      text: '<img><IMG_CONTEXT></img>',
      runs: [7 * 256],
    });
  });

  test.each([
    [[1, 32, 16], /pictures of 32×16 patches; expected a square with a multiple of 2/],
    [[1, 27, 27], /pictures of 27×27 patches; expected a square with a multiple of 2/],
  ] as const)('of grid %j is refused', (grid, message) => {
    expect(() => family.imageTokens({ grid })).toThrow(message);
  });

  test('needs the numbers of its grid, and the size of the others', () => {
    const image = (side: number, numbers: number) => ({
      grid: [1, side, side] as const,
      patches: new Float32Array(numbers),
    });
    const [two, four] = [image(2, 4 * 588), image(4, 16 * 588)];
    expect(() => family.visionFeeds([image(2, 5)])).toThrow(
      /image 0: grid \[1, 2, 2\] needs 2352 numbers, found 5/,
    );
    expect(() => family.visionFeeds([two, four])).toThrow(
      /image 1: pictures of 4×4 patches in a batch .* 2×2/,
    );
    expect(() => family.visionFeeds([])).toThrow(/at least one image/);
  });
});
