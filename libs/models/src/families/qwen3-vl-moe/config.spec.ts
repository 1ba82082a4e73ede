import { familyOf } from '../registry';
import { parseQwen3VlMoeConfig } from './index';

/** As in the original Qwen3-VL-30B-A3B folders, shortened. */
const original = {
  architectures: ['Qwen3VLMoeForConditionalGeneration'],
  image_token_id: 151655,
  model_type: 'qwen3_vl_moe',
  text_config: {
    attention_bias: false,
    attention_dropout: 0.0,
    decoder_sparse_step: 1,
    head_dim: 128,
    hidden_act: 'silu',
    hidden_size: 2048,
    intermediate_size: 6144,
    max_position_embeddings: 262144,
    mlp_only_layers: [],
    model_type: 'qwen3_vl_moe_text',
    moe_intermediate_size: 768,
    norm_topk_prob: true,
    num_attention_heads: 32,
    num_experts: 128,
    num_experts_per_tok: 8,
    num_hidden_layers: 48,
    num_key_value_heads: 4,
    rms_norm_eps: 1e-6,
    rope_scaling: { mrope_interleaved: true, mrope_section: [24, 20, 20], rope_type: 'default' },
    rope_theta: 5000000,
    vocab_size: 151936,
  },
  tie_word_embeddings: false,
  vision_config: {
    deepstack_visual_indexes: [8, 16, 24],
    depth: 27,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_size: 1152,
    in_channels: 3,
    intermediate_size: 4304,
    model_type: 'qwen3_vl_moe',
    num_heads: 16,
    num_position_embeddings: 2304,
    out_hidden_size: 2048,
    patch_size: 16,
    spatial_merge_size: 2,
    temporal_patch_size: 2,
  },
};

function changed(text: object): unknown {
  return { ...original, text_config: { ...original.text_config, ...text } };
}

function sparseLayers(text: object): number[] {
  return [...parseQwen3VlMoeConfig(changed({ num_hidden_layers: 8, ...text }), 'f').text.mixture!.layers];
}

test('reads the original form', () => {
  const { text } = parseQwen3VlMoeConfig(original, 'config.json');
  expect(text.mixture).toMatchObject({ experts: 128, expertsPerToken: 8, expertSize: 768, normalized: true });
  expect(text.mixture!.layers.size).toBe(48);
  expect(text).toMatchObject({ kvHeads: 4, headDim: 128, outputWeight: 'lm_head.weight' });
});

test('reads the name transformers 5 writes for the number of experts', () => {
  const { num_experts: experts, ...text } = original.text_config;
  const rewritten = { ...original, text_config: { ...text, num_local_experts: experts } };
  expect(parseQwen3VlMoeConfig(rewritten, 'f')).toEqual(parseQwen3VlMoeConfig(original, 'f'));
});

test('a head is as wide as the hidden states over the heads where head_dim is left out', () => {
  const section = { rope_scaling: { ...original.text_config.rope_scaling, mrope_section: [12, 10, 10] } };
  const { text } = parseQwen3VlMoeConfig(changed({ ...section, head_dim: undefined }), 'f');
  expect(text.headDim).toBe(64);
});

test('which layers have experts', () => {
  expect(sparseLayers({})).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(sparseLayers({ decoder_sparse_step: 3 })).toEqual([2, 5]);
  expect(sparseLayers({ decoder_sparse_step: 2, mlp_only_layers: [1, 2] })).toEqual([3, 5, 7]);
});

test('the weights of the 30B model are those of its checkpoint', () => {
  const family = familyOf(original, 'f');
  const parameters = family.parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(count).toBe(31_070_754_032);
  const shapes = new Map(parameters.map(({ name, shape }) => [name, shape]));
  const mlp = 'model.language_model.layers.47.mlp';
  expect(shapes.get(`${mlp}.gate.weight`)).toEqual([128, 2048]);
  expect(shapes.get(`${mlp}.experts.gate_up_proj`)).toEqual([128, 1536, 2048]);
  expect(shapes.get(`${mlp}.experts.down_proj`)).toEqual([128, 2048, 768]);
  expect(shapes.has(`${mlp}.gate_proj.weight`)).toBe(false);
});

test.each([
  [changed({ num_experts: undefined }), /text_config\.num_local_experts: expected an integer of at least 1/],
  [
    changed({ num_experts_per_tok: 129 }),
    /num_experts_per_tok: expected at most num_experts = 128, found 129/,
  ],
  [changed({ moe_intermediate_size: undefined }), /moe_intermediate_size: expected an integer/],
  [changed({ mlp_only_layers: 3 }), /mlp_only_layers: expected a list of integers, found 3/],
  [changed({ norm_topk_prob: 1 }), /norm_topk_prob: expected true or false, found 1/],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseQwen3VlMoeConfig(config, 'dir/config.json')).toThrow(message);
});
