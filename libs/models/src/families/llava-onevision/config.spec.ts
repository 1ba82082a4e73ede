import { familyOf } from '../registry';
import { parseLlavaOneVisionConfig } from './config';
import { packImage, packedFeatures } from './packing';

/** As in llava-onevision-qwen2-0.5b-ov-hf (shortened). */
const original = {
  architectures: ['LlavaOnevisionForConditionalGeneration'],
  image_grid_pinpoints: [
    [384, 384],
    [384, 768],
    [768, 384],
  ],
  image_token_index: 151646,
  model_type: 'llava_onevision',
  projector_hidden_act: 'gelu',
  text_config: {
    architectures: ['Qwen2ForCausalLM'],
    bos_token_id: 151643,
    eos_token_id: 151645,
    hidden_size: 896,
    intermediate_size: 4864,
    max_window_layers: 24,
    model_type: 'qwen2',
    num_attention_heads: 14,
    num_hidden_layers: 24,
    num_key_value_heads: 2,
    rope_theta: 1000000.0,
    tie_word_embeddings: true,
    vocab_size: 152000,
  },
  tie_word_embeddings: false,
  use_image_newline_parameter: true,
  video_token_index: 151647,
  vision_aspect_ratio: 'anyres_max_9',
  vision_config: {
    hidden_size: 1152,
    image_size: 384,
    intermediate_size: 4304,
    model_type: 'siglip_vision_model',
    num_attention_heads: 16,
    num_hidden_layers: 26,
    patch_size: 14,
    vision_use_head: false,
  },
  vision_feature_layer: -1,
  vision_feature_select_strategy: 'full',
};

test('reads the original form', () => {
  const { text, vision, maxTiles, imageTokenId } = parseLlavaOneVisionConfig(original, 'config.json');
  expect(text).toMatchObject({
    headDim: 64,
    kvHeads: 2,
    qkvBias: true,
    rope: { theta: 1e6, sections: null },
    outputWeight: 'model.language_model.embed_tokens.weight',
  });
  expect(vision).toMatchObject({
    kind: 'siglip',
    featureLayers: [26],
    dropsFirst: false,
    tower: { side: 27, usedLayers: 26, activation: 'gelu_pytorch_tanh', normEps: 1e-6 },
  });
  expect(maxTiles).toBe(9);
  expect(imageTokenId).toBe(151_646);
});

test('the weights of the 0.5B model are those of its checkpoint', () => {
  const family = familyOf(original, 'f');
  const parameters = family.parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(parameters).toHaveLength(716);
  expect(count).toBe(893_675_552);
  const names = parameters.map(({ name }) => family.checkpointName(name));
  expect(names).toContain('image_newline');
  expect(names).toContain('language_model.model.norm.weight');
  expect(names).toContain('vision_tower.vision_model.encoder.layers.25.mlp.fc2.bias');
});

test.each([
  [{ ...original, vision_aspect_ratio: 'square' }, /vision_aspect_ratio: expected anyres_max_ and a number/],
  [
    { ...original, vision_feature_select_strategy: 'default' },
    /vision_feature_select_strategy: expected one feature per patch: "full"/,
  ],
  [
    { ...original, text_config: { ...original.text_config, model_type: 'gemma' } },
    /text_config\.model_type: expected one of llama, mistral, qwen2/,
  ],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseLlavaOneVisionConfig(config, 'dir/config.json')).toThrow(message);
});

describe('the features of an image', () => {
  test('are those of one picture and a newline, where it is not tiled', () => {
    const image = { grid: [1, 2, 2] } as const;
    expect(packedFeatures(image, 2, 9)).toBe(5);
    expect(Array.from(packImage(image, 2, 9).rows)).toEqual([0, 1, 2, 3, -1]);
  });

  test('leave out the margin, and end each row with a newline', () => {
    // Two tiles side by side, whose upper and lower rows are empty.
    const image = { grid: [3, 3, 3], tiles: [1, 2], shown: [1, 6] } as const;
    expect(packedFeatures(image, 3, 9)).toBe(9 + 7);
    const { rows, taps } = packImage(image, 3, 9);
    expect(taps).toBe(1);
    expect(Array.from(rows.slice(9))).toEqual([12, 13, 14, 21, 22, 23, -1]);
  });

  test('are shrunk bilinearly where there are clearly too many', () => {
    // 4 × 4 features, of which one tile's number is allowed: 2 × 2, each the mean of four neighbours.
    const image = { grid: [5, 2, 2], tiles: [2, 2], shown: [4, 4] } as const;
    expect(packedFeatures(image, 2, 1)).toBe(4 + 2 * 3);
    const { rows, weights, taps } = packImage(image, 2, 1);
    expect(taps).toBe(4);
    expect(Array.from(rows.slice(16, 20))).toEqual([4, 5, 6, 7]);
    expect(Array.from(weights.slice(16, 20))).toEqual([0.25, 0.25, 0.25, 0.25]);
    expect(Array.from(rows.slice(24, 28))).toEqual([-1, 0, 0, 0]);
    expect(Array.from(weights.slice(24, 28))).toEqual([1, 0, 0, 0]);
    expect(packedFeatures(image, 2, 4)).toBe(4 + 4 * 5);
  });

  test('cannot be told without knowing how the tiles lie', () => {
    expect(() => packedFeatures({ grid: [3, 2, 2] }, 2, 9)).toThrow(/must say how they lie/);
  });
});
