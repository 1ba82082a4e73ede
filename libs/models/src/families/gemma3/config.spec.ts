import type { Family } from '../base';
import { namesInFiles } from '../common/names-in-files';
import { familyOf } from '../registry';
import { parseGemma3Config } from './config';
import { published } from './published';

const original = published['google/gemma-3-4b-it'] as {
  text_config: Record<string, unknown>;
  vision_config: Record<string, unknown>;
};

const withText = (text: object) => ({ ...original, text_config: { ...original.text_config, ...text } });
const withVision = (vision: object) => ({
  ...original,
  vision_config: { ...original.vision_config, ...vision },
});
const parse = (config: object) => parseGemma3Config(config, 'dir/config.json');

test('reads the published form, with the defaults of transformers for what it omits', () => {
  const { text, vision, imageTokenId, poolSize } = parse(original);
  const { window, ...decoder } = text;
  expect(decoder).toEqual({
    prefix: 'model.language_model',
    outputWeight: 'model.language_model.embed_tokens.weight',
    vocabSize: 262_208,
    hiddenSize: 2560,
    intermediateSize: 10_240,
    layers: 34,
    heads: 8,
    kvHeads: 4,
    headDim: 256,
    normEps: 1e-6,
    qkvBias: false,
    outputBias: false,
    qkNorm: true,
    rope: { theta: 1e6, sections: null, interleaved: false, scaling: { kind: 'linear', factor: 8 } },
    maxPositions: 131_072,
    normsAddToOne: true,
    normsResults: true,
    activation: 'gelu_tanh',
    queryScalar: 256,
    embeddingScale: Math.fround(Math.sqrt(2560)),
    wholeImages: true,
  });
  expect(window).toEqual({
    layers: new Set(Array.from({ length: 34 }, (_, layer) => layer).filter((layer) => layer % 6 !== 5)),
    size: 1024,
    rope: { theta: 1e4, sections: null, interleaved: false },
  });
  expect(vision).toMatchObject({ side: 64, patchSize: 14, layers: 27, heads: 16, headDim: 72 });
  expect([imageTokenId, poolSize]).toEqual([262_144, 4]);
});

test('reads the largest model, whose query scale is not that of its heads', () => {
  const { text } = parse(
    withText({
      hidden_size: 5376,
      intermediate_size: 21_504,
      num_hidden_layers: 62,
      num_attention_heads: 32,
      num_key_value_heads: 16,
      head_dim: 128,
      query_pre_attn_scalar: 168,
    }),
  );
  expect(text).toMatchObject({ headDim: 128, queryScalar: 168, heads: 32, kvHeads: 16, layers: 62 });
  expect(text.window?.layers.size).toBe(52);
});

test('reads the form of transformers 5, with a rope section and a type per layer', () => {
  const { rope_scaling: _, ...text } = original.text_config;
  const rope_parameters = {
    full_attention: { factor: 8, rope_theta: 1e6, rope_type: 'linear' },
    sliding_attention: { rope_theta: 1e4, rope_type: 'default' },
  };
  const layer_types = Array.from({ length: 34 }, (_, layer) =>
    layer % 6 === 5 ? 'full_attention' : 'sliding_attention',
  );
  const config = { ...original, text_config: { ...text, rope_parameters, layer_types } };
  expect(parse(config)).toEqual(parse(original));
});

test('reads other kinds of layers, and their own rotary bases', () => {
  const { text } = parse(
    withText({
      num_hidden_layers: 3,
      layer_types: ['full_attention', 'sliding_attention', 'full_attention'],
      rope_theta: 5e5,
      rope_local_base_freq: 5e3,
    }),
  );
  expect(text.window?.layers).toEqual(new Set([1]));
  expect([text.rope.theta, text.window?.rope.theta]).toEqual([5e5, 5e3]);
  expect(parse(withText({ sliding_window_pattern: 1 })).text.window).toBeUndefined();
});

test.each([
  [{}, {}, true],
  [{ tie_word_embeddings: false }, {}, false],
  [{}, { tie_word_embeddings: false }, false],
  [{ tie_word_embeddings: false }, { tie_word_embeddings: true }, true],
  [{ tie_word_embeddings: false }, { tie_word_embeddings: false }, false],
])('says whether the output layer is the embeddings: %j, text %j', (outer, text, isTied) => {
  const { outputWeight } = parse({ ...withText(text), ...outer }).text;
  expect(outputWeight).toBe(isTied ? 'model.language_model.embed_tokens.weight' : 'lm_head.weight');
});

test('finds weights under the names of every release', () => {
  const { checkpointName } = familyOf(original, 'f');
  const names = (name: string): string[] => namesInFiles(name, checkpointName);
  expect(names('lm_head.weight')).toEqual(['lm_head.weight', 'language_model.lm_head.weight']);
  // The second of each is that of the published files.
  expect(names('model.language_model.layers.0.pre_feedforward_layernorm.weight').slice(0, 2)).toEqual([
    'model.language_model.layers.0.pre_feedforward_layernorm.weight',
    'language_model.model.layers.0.pre_feedforward_layernorm.weight',
  ]);
  expect(names('model.vision_tower.post_layernorm.weight').slice(0, 2)).toEqual([
    'model.vision_tower.post_layernorm.weight',
    'vision_tower.vision_model.post_layernorm.weight',
  ]);
  expect(names('model.multi_modal_projector.mm_input_projection_weight')).toEqual([
    'model.multi_modal_projector.mm_input_projection_weight',
    'multi_modal_projector.mm_input_projection_weight',
  ]);
});

test('adapts all linear layers of the text model and the tower, but not the matrix of the projector', () => {
  const linears = familyOf(withText({ num_hidden_layers: 1 }), 'f').linears();
  const text = linears.filter(({ part }) => part === 'text').map(({ name }) => name.split('.').slice(-2));
  expect(text.map((parts) => parts.join('.'))).toEqual(
    expect.arrayContaining(['self_attn.q_proj', 'self_attn.o_proj', 'mlp.gate_proj', 'mlp.down_proj']),
  );
  expect(text).toHaveLength(7);
  expect(linears.filter(({ part }) => part === 'vision')).toHaveLength(27 * 6);
  expect(linears.some(({ name }) => name.includes('multi_modal_projector'))).toBe(false);
});

test.each([
  [
    withText({ model_type: 'gemma2' }),
    /text_config\.model_type: expected one of gemma3_text, found "gemma2"/,
  ],
  [
    withText({ hidden_activation: 'gelu' }),
    /text_config\.hidden_activation: expected one of gelu_pytorch_tanh/,
  ],
  [withText({ attn_logit_softcapping: 50 }), /text_config\.attn_logit_softcapping: expected null, found 50/],
  [
    withText({ final_logit_softcapping: 30 }),
    /text_config\.final_logit_softcapping: expected null, found 30/,
  ],
  [
    withText({ use_bidirectional_attention: true }),
    /use_bidirectional_attention: expected false, found true/,
  ],
  [withText({ attention_bias: true }), /text_config\.attention_bias: expected false, found true/],
  [withText({ attention_dropout: 0.1 }), /text_config\.attention_dropout: expected 0, found 0\.1/],
  [withText({ query_pre_attn_scalar: 0 }), /query_pre_attn_scalar: expected a positive number, found 0/],
  [
    withText({ num_key_value_heads: 3 }),
    /num_key_value_heads: expected a divisor of num_attention_heads = 8/,
  ],
  [withText({ head_dim: 31 }), /text_config\.head_dim: expected an even number, found 31/],
  [withText({ sliding_window: null }), /sliding_window: expected an integer of at least 1, found null/],
  [withText({ sliding_window: 0 }), /sliding_window: expected an integer of at least 1, found 0/],
  [withText({ sliding_window_pattern: 0 }), /sliding_window_pattern: expected an integer of at least 1/],
  [
    withText({ num_hidden_layers: 2, layer_types: ['full_attention'] }),
    /text_config\.layer_types: expected 2 times sliding_attention or full_attention, found \["full_attention"\]/,
  ],
  [
    withText({ num_hidden_layers: 1, layer_types: ['linear_attention'] }),
    /layer_types: expected 1 times sliding_attention or full_attention/,
  ],
  [withText({ rope_scaling: { rope_type: 'yarn', factor: 8 } }), /rope_scaling\.rope_type: expected one of/],
  [withText({ vocab_size: 0 }), /text_config\.vocab_size: expected an integer of at least 1, found 0/],
  [withVision({ vision_use_head: true }), /vision_config\.vision_use_head: expected false, found true/],
  [withVision({ num_attention_heads: 7 }), /vision_config\.hidden_size: expected a multiple of .* = 7/],
  [withVision({ hidden_act: 'relu' }), /vision_config\.hidden_act: expected one of/],
  [
    { ...original, mm_tokens_per_image: 200 },
    /mm_tokens_per_image: expected the square of a divisor of image_size \/ patch_size = 64, found 200/,
  ],
  [{ ...original, mm_tokens_per_image: 9 }, /mm_tokens_per_image: expected the square of a divisor/],
  [{ ...original, image_token_index: -1 }, /image_token_index: expected an integer of at least 0, found -1/],
  [{ ...original, text_config: undefined }, /text_config: expected an object, found nothing/],
  [{ ...original, vision_config: null }, /vision_config: expected an object, found null/],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parse(config)).toThrow(message);
});

describe('an image', () => {
  const family: Family = familyOf(original, 'f');

  test('is a run of 256 tokens between two marks and empty lines', () => {
    const image = { grid: [1, 64, 64] } as const;
    expect(family.imageTokens(image)).toBe(256);
    expect(family.imageText(image, '<image_soft_token>')).toEqual({
      text: '\n\n<start_of_image><image_soft_token><end_of_image>\n\n',
      runs: [256],
    });
    expect(family.templateImage).toBe('<start_of_image>');
    expect(family.wholeImages).toBe(true);
  });

  test.each([[[1, 64, 32]], [[2, 64, 64]], [[1, 16, 16]]] as const)('of grid %j is refused', (grid) => {
    expect(() => family.imageTokens({ grid })).toThrow(
      /an image of \d+×\d+×\d+ patches; expected 1×64×64: do preprocessor_config\.json and config\.json belong/,
    );
  });

  test('needs the numbers of its grid', () => {
    const grid = [1, 64, 64] as const;
    expect(() => family.visionFeeds([{ grid, patches: new Float32Array(5) }])).toThrow(
      /image 0: grid \[1, 64, 64\] needs 2408448 numbers, found 5/,
    );
    expect(() => family.visionFeeds([])).toThrow(/at least one image/);
  });
});
