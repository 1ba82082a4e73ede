import { familyOf } from '../registry';
import { parseQwen2VlConfig } from './config';

/** As in the original Qwen2-VL folders (2B, shortened): the text model's fields are at the top level. */
const original = {
  architectures: ['Qwen2VLForConditionalGeneration'],
  attention_dropout: 0.0,
  image_token_id: 151655,
  hidden_act: 'silu',
  hidden_size: 1536,
  intermediate_size: 8960,
  max_position_embeddings: 32768,
  max_window_layers: 28,
  model_type: 'qwen2_vl',
  num_attention_heads: 12,
  num_hidden_layers: 28,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000.0,
  sliding_window: 32768,
  tie_word_embeddings: true,
  use_sliding_window: false,
  vision_config: {
    depth: 32,
    embed_dim: 1280,
    mlp_ratio: 4,
    num_heads: 16,
    in_chans: 3,
    hidden_size: 1536,
    patch_size: 14,
    spatial_merge_size: 2,
    spatial_patch_size: 14,
    temporal_patch_size: 2,
  },
  rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
  vocab_size: 151936,
};

test('reads the original form', () => {
  const { text, vision, imageTokenId } = parseQwen2VlConfig(original, 'config.json');
  expect(text).toMatchObject({
    headDim: 128,
    kvHeads: 2,
    qkvBias: true,
    outputBias: false,
    qkNorm: false,
    normEps: 1e-6,
    rope: { theta: 1e6, sections: [16, 24, 24], interleaved: false },
    outputWeight: 'model.language_model.embed_tokens.weight',
  });
  expect(vision).toMatchObject({
    hiddenSize: 1280,
    intermediateSize: 5120,
    headDim: 80,
    outHiddenSize: 1536,
  });
  expect(imageTokenId).toBe(151655);
});

test('reads the form transformers 5 writes to the same configuration', () => {
  const {
    vision_config: vision,
    rope_scaling: scaling,
    rope_theta: theta,
    tie_word_embeddings: tied,
    ...text
  } = original;
  const rewritten = {
    image_token_id: 151655,
    model_type: 'qwen2_vl',
    tie_word_embeddings: tied,
    text_config: {
      ...text,
      rope_parameters: { mrope_section: scaling.mrope_section, rope_theta: theta, rope_type: 'default' },
    },
    vision_config: { ...vision, rope_parameters: { rope_theta: 10000.0, rope_type: 'axial' } },
  };
  expect(parseQwen2VlConfig(rewritten, 'f')).toEqual(parseQwen2VlConfig(original, 'f'));
});

test('the weights of the 2B model are those of its checkpoint', () => {
  const family = familyOf(original, 'f');
  const parameters = family.parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(parameters).toHaveLength(729);
  expect(count).toBe(2_208_985_600);
  const names = parameters.map(({ name }) => family.checkpointName(name));
  expect(names).toContain('visual.merger.mlp.2.bias');
  expect(names).toContain('model.layers.27.self_attn.k_proj.bias');
  expect(names).toContain('model.norm.weight');
});

test.each([
  [{ ...original, rope_scaling: undefined }, /config\.json: rope_scaling: expected an object, found nothing/],
  [{ ...original, rope_scaling: { type: 'yarn' } }, /rope_scaling\.type: expected one of default, mrope/],
  [{ ...original, use_sliding_window: true }, /use_sliding_window: expected false/],
  [
    { ...original, vision_config: { ...original.vision_config, hidden_size: 1024 } },
    /vision_config\.hidden_size: expected the text model's hidden_size = 1536, found 1024/,
  ],
  [
    { ...original, vision_config: { ...original.vision_config, hidden_act: 'relu' } },
    /vision_config\.hidden_act: expected one of quick_gelu/,
  ],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseQwen2VlConfig(config, 'dir/config.json')).toThrow(message);
});
