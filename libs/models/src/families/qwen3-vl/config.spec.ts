import { familyOf } from '../registry';
import { parseQwen3VlConfig } from './config';

/** As in the original Qwen3-VL folders (2B, shortened). */
const original = {
  architectures: ['Qwen3VLForConditionalGeneration'],
  image_token_id: 151655,
  model_type: 'qwen3_vl',
  text_config: {
    attention_bias: false,
    attention_dropout: 0.0,
    head_dim: 128,
    hidden_act: 'silu',
    hidden_size: 2048,
    intermediate_size: 6144,
    max_position_embeddings: 262144,
    model_type: 'qwen3_vl_text',
    num_attention_heads: 16,
    num_hidden_layers: 28,
    num_key_value_heads: 8,
    rms_norm_eps: 1e-6,
    rope_scaling: { mrope_interleaved: true, mrope_section: [24, 20, 20], rope_type: 'default' },
    rope_theta: 5000000,
    tie_word_embeddings: true,
    vocab_size: 151936,
  },
  tie_word_embeddings: true,
  vision_config: {
    deepstack_visual_indexes: [5, 11, 17],
    depth: 24,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_size: 1024,
    in_channels: 3,
    intermediate_size: 4096,
    model_type: 'qwen3_vl',
    num_heads: 16,
    num_position_embeddings: 2304,
    out_hidden_size: 2048,
    patch_size: 16,
    spatial_merge_size: 2,
    temporal_patch_size: 2,
  },
};

function changed(text: object, vision: object = {}, top: object = {}): unknown {
  return {
    ...original,
    ...top,
    text_config: { ...original.text_config, ...text },
    vision_config: { ...original.vision_config, ...vision },
  };
}

test('reads the original form', () => {
  const config = parseQwen3VlConfig(original, 'config.json');
  expect(config.text).toMatchObject({
    kvHeads: 8,
    headDim: 128,
    rope: { theta: 5e6, sections: [24, 20, 20], interleaved: true },
    outputWeight: 'model.language_model.embed_tokens.weight',
  });
  expect(config.vision).toMatchObject({ headDim: 64, ropeTheta: 1e4, deepstackIndexes: [5, 11, 17] });
});

test('reads the form transformers 5 writes to the same configuration', () => {
  const { rope_scaling: rope, rope_theta: theta, ...text } = original.text_config;
  const rewritten = {
    ...original,
    text_config: { ...text, rope_parameters: { ...rope, rope_theta: theta } },
    vision_config: {
      ...original.vision_config,
      rope_parameters: { rope_theta: 10000.0, rope_type: 'axial' },
    },
  };
  expect(parseQwen3VlConfig(rewritten, 'f')).toEqual(parseQwen3VlConfig(original, 'f'));
});

test('the weights of the 2B model are those of its checkpoint', () => {
  const parameters = familyOf(original, 'f').parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(parameters).toHaveLength(625);
  expect(count).toBe(2_127_532_032);
});

test.each([
  [changed({ rope_scaling: undefined }), /text_config\.rope_scaling: expected an object, found nothing/],
  [
    changed({ rope_scaling: { rope_type: 'yarn', mrope_section: [24, 20, 20] } }),
    /rope_scaling\.rope_type: expected one of default/,
  ],
  [changed({ rope_scaling: { mrope_section: [16, 24, 20] } }), /add up to head_dim \/ 2 = 64/],
  [
    changed({ rope_scaling: { mrope_interleaved: false, mrope_section: [24, 20, 20] } }),
    /mrope_interleaved: expected true/,
  ],
  [
    changed({ num_key_value_heads: 3 }),
    /num_key_value_heads: expected a divisor of num_attention_heads = 16, found 3/,
  ],
  [changed({ hidden_act: 'gelu' }), /text_config\.hidden_act: expected one of silu, found "gelu"/],
  [changed({ vocab_size: '151936' }), /vocab_size: expected an integer of at least 1, found "151936"/],
  [
    changed({}, { out_hidden_size: 1024 }),
    /out_hidden_size: expected text_config\.hidden_size = 2048, found 1024/,
  ],
  [
    changed({}, { deepstack_visual_indexes: [5, 24] }),
    /deepstack_visual_indexes: expected increasing layer numbers/,
  ],
  [changed({}, { num_position_embeddings: 2300 }), /num_position_embeddings: expected a square number/],
  [{ ...original, vision_config: undefined }, /vision_config: expected an object/],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseQwen3VlConfig(config, 'dir/config.json')).toThrow(message);
  expect(() => parseQwen3VlConfig(config, 'dir/config.json')).toThrow('dir/config.json');
});

test('another model type is refused with the supported ones', () => {
  const message = /dir\/config\.json: model_type is "qwen4_vl"; supported: .*qwen3_vl/;
  expect(() => familyOf({ model_type: 'qwen4_vl' }, 'dir/config.json')).toThrow(message);
  expect(() => familyOf({ model_type: 'constructor' }, 'x')).toThrow(/supported: .*qwen3_vl/);
  expect(() => familyOf({}, 'x')).toThrow(/model_type is nothing/);
});
