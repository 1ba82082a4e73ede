import { familyOf } from '../registry';
import { parseLlavaConfig } from './config';

/** As in llava-1.5-7b-hf: most of the text model uses defaults. */
const original = {
  architectures: ['LlavaForConditionalGeneration'],
  ignore_index: -100,
  image_token_index: 32000,
  model_type: 'llava',
  pad_token_id: 32001,
  projector_hidden_act: 'gelu',
  text_config: {
    _name_or_path: 'lmsys/vicuna-7b-v1.5',
    architectures: ['LlamaForCausalLM'],
    max_position_embeddings: 4096,
    model_type: 'llama',
    rms_norm_eps: 1e-5,
    torch_dtype: 'float16',
    vocab_size: 32064,
  },
  tie_word_embeddings: false,
  torch_dtype: 'float16',
  vision_config: {
    hidden_size: 1024,
    image_size: 336,
    intermediate_size: 4096,
    model_type: 'clip_vision_model',
    num_attention_heads: 16,
    num_hidden_layers: 24,
    patch_size: 14,
    projection_dim: 768,
    vocab_size: 32000,
  },
  vision_feature_layer: -2,
  vision_feature_select_strategy: 'default',
  vocab_size: 32064,
};

test('reads the original form', () => {
  const { text, vision, imageTokenId } = parseLlavaConfig(original, 'config.json');
  expect(text).toMatchObject({ layers: 32, kvHeads: 32, headDim: 128, normEps: 1e-5, vocabSize: 32_064 });
  expect(vision).toMatchObject({
    kind: 'clip',
    featureLayers: [23],
    dropsFirst: true,
    textSize: 4096,
    tower: { usedLayers: 23, side: 24, activation: 'quick_gelu', normEps: 1e-5, postNorm: false },
  });
  expect(imageTokenId).toBe(32_000);
});

test('reads the form transformers 5 writes to the same configuration', () => {
  const { image_token_index: token, text_config: text, vision_config: vision, ...rest } = original;
  const rewritten = {
    ...rest,
    image_token_id: token,
    image_seq_length: 576,
    multimodal_projector_bias: true,
    text_config: {
      ...text,
      attention_bias: false,
      head_dim: 128,
      hidden_act: 'silu',
      hidden_size: 4096,
      intermediate_size: 11008,
      mlp_bias: false,
      num_attention_heads: 32,
      num_hidden_layers: 32,
      num_key_value_heads: 32,
      rope_parameters: { rope_theta: 10000.0, rope_type: 'default' },
    },
    vision_config: { ...vision, attention_dropout: 0.0, hidden_act: 'quick_gelu', layer_norm_eps: 1e-5 },
  };
  expect(parseLlavaConfig(rewritten, 'f')).toEqual(parseLlavaConfig(original, 'f'));
});

test('the weights of the 7B model are those of its checkpoint', () => {
  const family = familyOf(original, 'f');
  const parameters = family.parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(parameters).toHaveLength(686);
  expect(count).toBe(7_063_427_072);
  const names = parameters.map(({ name }) => family.checkpointName(name));
  expect(names).toContain('language_model.model.layers.31.self_attn.q_proj.weight');
  expect(names).toContain('language_model.lm_head.weight');
  expect(names).toContain('vision_tower.vision_model.embeddings.class_embedding');
  expect(names).toContain('multi_modal_projector.linear_2.bias');
  expect(family.imageTokens({ grid: [1, 24, 24] })).toBe(576);
});

test('features come from any layers, beside each other', () => {
  const several = { ...original, vision_feature_layer: [0, -1, 5], vision_feature_select_strategy: 'full' };
  const { vision } = parseLlavaConfig(several, 'f');
  expect(vision).toMatchObject({ featureLayers: [0, 24, 5], dropsFirst: false, tower: { usedLayers: 24 } });
  expect(familyOf(several, 'f').imageTokens({ grid: [1, 24, 24] })).toBe(577);
  const linear = familyOf(several, 'f')
    .linears()
    .find(({ name }) => name.endsWith('linear_1'));
  expect(linear).toMatchObject({ inFeatures: 3 * 1024, outFeatures: 4096 });
});

test('an image that was not cut as the tower wants it is refused', () => {
  const family = familyOf(original, 'f');
  expect(() => family.imageTokens({ grid: [1, 16, 16] })).toThrow(
    /16×16 patches.*24×24 patches of 14 pixels/,
  );
  expect(() => family.imageTokens({ grid: [2, 24, 24] })).toThrow(/2 pictures/);
});

const vision = original.vision_config;
test.each([
  [{ ...original, vision_config: undefined }, /vision_config: expected an object, found nothing/],
  [{ ...original, vision_config: { ...vision, model_type: 'pixtral' } }, /model_type: expected one of clip/],
  [
    { ...original, vision_config: { ...vision, model_type: 'siglip_vision_model' } },
    /vision_use_head: expected false/,
  ],
  [{ ...original, vision_feature_layer: 25 }, /vision_feature_layer: expected layers from -25 to 24/],
  [{ ...original, vision_feature_layer: 'last' }, /vision_feature_layer: expected an integer or a list/],
  [{ ...original, vision_feature_select_strategy: 'cls' }, /expected one of default, full, found "cls"/],
  [{ ...original, projector_hidden_act: 'relu' }, /projector_hidden_act: expected one of gelu/],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseLlavaConfig(config, 'dir/config.json')).toThrow(message);
});
