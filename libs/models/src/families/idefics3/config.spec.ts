import { blockOrder } from '../common/block-order';
import { familyOf } from '../registry';
import { parseIdefics3Config } from './config';

/** As in the folder of SmolVLM-256M-Instruct (shortened): most of the vision tower is left out. */
const smol = {
  architectures: ['Idefics3ForConditionalGeneration'],
  image_token_id: 49190,
  model_type: 'idefics3',
  scale_factor: 4,
  text_config: {
    architectures: ['VLlama3ForCausalLM'],
    head_dim: 64,
    hidden_size: 576,
    intermediate_size: 1536,
    is_llama_config: true,
    max_position_embeddings: 8192,
    model_type: 'llama',
    num_attention_heads: 9,
    num_hidden_layers: 30,
    num_key_value_heads: 3,
    pad_token_id: 2,
    pixel_shuffle_factor: 4,
    qk_layer_norms: false,
    rms_norm_eps: 1e-5,
    rope_interleaved: false,
    rope_theta: 100000,
    use_resampler: false,
    vocab_size: 49280,
  },
  tie_word_embeddings: false,
  vision_config: {
    hidden_size: 768,
    image_size: 512,
    max_image_size: { longest_edge: 512 },
    model_type: 'idefics3',
    num_attention_heads: 12,
    patch_size: 16,
    size: { longest_edge: 2048 },
    tie_word_embeddings: false,
    use_base_siglip: true,
  },
  vocab_size: 49280,
};

/** The same configuration as transformers 5 writes it. */
const { rope_theta: theta, ...text } = smol.text_config;
const rewritten = {
  ...smol,
  text_config: { ...text, rope_parameters: { rope_theta: theta, rope_type: 'default' } },
  vision_config: {
    attention_dropout: 0.0,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_size: 768,
    image_size: 512,
    intermediate_size: 3072,
    layer_norm_eps: 1e-6,
    model_type: 'idefics3_vision',
    num_attention_heads: 12,
    num_channels: 3,
    num_hidden_layers: 12,
    patch_size: 16,
  },
};

test('reads the original form, and the form transformers 5 writes to the same configuration', () => {
  const config = parseIdefics3Config(smol, 'config.json');
  expect(config).toMatchObject({
    scaleFactor: 4,
    imageTokenId: 49190,
    text: { layers: 30, kvHeads: 3, headDim: 64, rope: { theta: 1e5 }, outputWeight: 'lm_head.weight' },
    vision: { layers: 12, intermediateSize: 3072, side: 32, headDim: 64, activation: 'gelu_pytorch_tanh' },
  });
  expect(parseIdefics3Config(rewritten, 'config.json')).toEqual(config);
});

test.each(['idefics3', 'smolvlm'])('the weights of a 256M %s are those of its checkpoint', (modelType) => {
  const parameters = familyOf({ ...smol, model_type: modelType }, 'f').parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(parameters).toHaveLength(471);
  expect(count).toBe(256_484_928);
  expect(new Set(parameters.map(({ name }) => name)).size).toBe(471);
});

test('patches that become one token stand together', () => {
  expect(Array.from(blockOrder(2, 4, 2))).toEqual([0, 1, 4, 5, 2, 3, 6, 7]);
});

describe('a prompt', () => {
  const family = familyOf(smol, 'f');

  test('tells where each tile lies, and shows the whole behind', () => {
    const { text, runs } = family.imageText({ grid: [3, 32, 32], tiles: [1, 2] }, '<image>');
    expect(text).toBe(
      '<fake_token_around_image><row_1_col_1><image><fake_token_around_image><row_1_col_2><image>\n\n' +
        '<fake_token_around_image><global-img><image><fake_token_around_image>',
    );
    expect(runs).toEqual([64, 64, 64]);
  });

  test('shows an image that was not cut as a whole', () => {
    const { text, runs } = family.imageText({ grid: [1, 32, 32] }, '<image>');
    expect(text).toBe('<fake_token_around_image><global-img><image><fake_token_around_image>');
    expect(runs).toEqual([64]);
  });
});

describe('images that do not fit are refused', () => {
  const family = familyOf(smol, 'f');
  const image = (tiles: number, rows: number, columns: number) => ({
    grid: [tiles, rows, columns] as const,
    patches: new Float32Array(tiles * rows * columns * 768),
  });

  test.each([
    ['no image', [], /at least one image/],
    ['tiles of another size', [image(1, 4, 4), image(1, 8, 8)], /image 1: tiles of 8×8 patches in a batch/],
    ['tiles that are not whole tokens', [image(1, 6, 4)], /6×4 patches; expected multiples of .* = 4/],
    [
      'patches that do not fit the grid',
      [{ ...image(1, 4, 4), patches: new Float32Array(9) }],
      /needs 12288 numbers, found 9/,
    ],
  ])('%s', (_, images, message) => {
    expect(() => family.visionFeeds(images)).toThrow(message);
  });

  test('a prompt with another number of placeholders', () => {
    const images = [{ grid: [1, 4, 8] as const }];
    expect(family.positions([5, 49190, 49190, 6], images).slice(0, 4)).toEqual(Int32Array.of(0, 1, 2, 3));
    expect(() => family.positions([5, 49190, 6], images)).toThrow(
      /1 images need 2 placeholders 49190.*hold 1/,
    );
  });
});

test.each([
  [{ vision_config: { ...smol.vision_config, hidden_act: 'relu' } }, /vision_config\.hidden_act/],
  [{ vision_config: { ...smol.vision_config, num_attention_heads: 7 } }, /vision_config\.hidden_size.*= 7/],
  [{ vision_config: { ...smol.vision_config, image_size: [512, 512] } }, /vision_config\.image_size/],
  [{ text_config: undefined }, /text_config: expected an object/],
  [{ scale_factor: 0 }, /scale_factor: expected an integer of at least 1/],
])('names what is wrong in config %#', (change, message) => {
  expect(() => parseIdefics3Config({ ...smol, ...change }, 'dir/config.json')).toThrow(message);
});
