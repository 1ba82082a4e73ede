import { knownConfig } from '../../catalogue';
import { familyOf } from '../registry';
import { parseQwen35Config } from './config';

/** As in the original Qwen3.5-0.8B folder. */
const original = knownConfig('Qwen/Qwen3.5-0.8B')!;
const originalRope = (original.text_config as { rope_parameters: object }).rope_parameters;

function changed(text: object, vision: object = {}, top: object = {}): unknown {
  return {
    ...original,
    ...top,
    text_config: { ...(original.text_config as object), ...text },
    vision_config: { ...(original.vision_config as object), ...vision },
  };
}

function rope(change: object): unknown {
  return changed({ rope_parameters: { ...originalRope, ...change } });
}

test('reads the original form', () => {
  const { text, vision, imageTokenId } = parseQwen35Config(original, 'config.json');
  expect(text).toMatchObject({
    heads: 8,
    kvHeads: 2,
    headDim: 256,
    rotaryDim: 64,
    outputGate: true,
    normsAddToOne: true,
    rope: { theta: 1e7, sections: [11, 11, 10], interleaved: true },
    outputWeight: 'model.language_model.embed_tokens.weight',
    linearAttention: { keyHeads: 16, heads: 16, keyDim: 128, valueDim: 128, kernel: 4 },
  });
  const linear = [...text.linearAttention!.layers];
  expect(linear).toHaveLength(18);
  expect(linear.slice(0, 5)).toEqual([0, 1, 2, 4, 5]);
  expect(vision).toMatchObject({ headDim: 64, ropeTheta: 1e4, deepstackIndexes: [] });
  expect(imageTokenId).toBe(248_056);
});

test('reads the form transformers 5 writes, without what it leaves out, to the same configuration', () => {
  const { deepstack_visual_indexes: _, ...vision } = original.vision_config as Record<string, unknown>;
  const {
    layer_types: __,
    full_attention_interval: ___,
    ...text
  } = original.text_config as Record<string, unknown>;
  const rewritten = {
    ...original,
    text_config: { ...text, rope_parameters: { ...originalRope, type: 'default' } },
    vision_config: { ...vision, rope_parameters: { rope_theta: 10000.0, rope_type: 'axial' } },
  };
  expect(parseQwen35Config(rewritten, 'f')).toEqual(parseQwen35Config(original, 'f'));
});

test('keys and values are those of softmax attention, states those of the other layers', () => {
  const { shape } = familyOf(original, 'f');
  const state = 16 * 128 * 128;
  const convolved = 3 * (3 * 16 * 128);
  expect(shape).toMatchObject({ layers: 24, kvLayers: 6, kvHeads: 2, headDim: 256 });
  expect(shape.stateSize).toBe(18 * (state + convolved));
});

test('weights have the names and shapes of the checkpoint', () => {
  const shapes = new Map(
    familyOf(original, 'f')
      .parameters()
      .map(({ name, shape }) => [name, shape]),
  );
  const layer = (index: number): string => `model.language_model.layers.${index}`;
  expect(shapes.get(`${layer(0)}.linear_attn.in_proj_qkv.weight`)).toEqual([6144, 1024]);
  expect(shapes.get(`${layer(0)}.linear_attn.in_proj_z.weight`)).toEqual([2048, 1024]);
  expect(shapes.get(`${layer(0)}.linear_attn.in_proj_a.weight`)).toEqual([16, 1024]);
  expect(shapes.get(`${layer(0)}.linear_attn.conv1d.weight`)).toEqual([6144, 1, 4]);
  expect(shapes.get(`${layer(0)}.linear_attn.A_log`)).toEqual([16]);
  expect(shapes.get(`${layer(0)}.linear_attn.dt_bias`)).toEqual([16]);
  expect(shapes.get(`${layer(0)}.linear_attn.norm.weight`)).toEqual([128]);
  expect(shapes.get(`${layer(0)}.linear_attn.out_proj.weight`)).toEqual([1024, 2048]);
  expect(shapes.get(`${layer(3)}.self_attn.q_proj.weight`)).toEqual([4096, 1024]);
  expect(shapes.get(`${layer(3)}.self_attn.o_proj.weight`)).toEqual([1024, 2048]);
  expect(shapes.has(`${layer(0)}.self_attn.q_proj.weight`)).toBe(false);
  expect(shapes.has('model.visual.deepstack_merger_list.0.norm.weight')).toBe(false);
});

test.each([
  [
    changed({ rope_parameters: undefined }),
    /text_config\.rope_parameters: expected an object, found nothing/,
  ],
  [rope({ rope_type: 'yarn' }), /rope_parameters\.rope_type: expected one of default/],
  [rope({ mrope_section: [24, 20, 20] }), /add up to partial_rotary_factor · head_dim \/ 2 = 32/],
  [rope({ partial_rotary_factor: 1.5 }), /partial_rotary_factor: expected a share of head_dim = 256/],
  [rope({ partial_rotary_factor: 0.3 }), /partial_rotary_factor: expected a share of head_dim = 256/],
  [rope({ mrope_interleaved: false }), /mrope_interleaved: expected true/],
  [changed({ attn_output_gate: false }), /attn_output_gate: expected true, found false/],
  [
    changed({ layer_types: ['full_attention'] }),
    /layer_types: expected full_attention or linear_attention for each/,
  ],
  [
    changed({ layer_types: Array(24).fill('sliding_attention') }),
    /layer_types: expected full_attention or linear_attention for each/,
  ],
  [
    changed({ layer_types: Array(24).fill('linear_attention') }),
    /layer_types: expected at least one layer of full/,
  ],
  [
    changed({ linear_num_value_heads: 24 }),
    /linear_num_value_heads: expected a multiple of linear_num_key_heads = 16, found 24/,
  ],
  [
    changed({ linear_conv_kernel_dim: 1 }),
    /linear_conv_kernel_dim: expected an integer of at least 2, found 1/,
  ],
  [
    changed({}, { deepstack_visual_indexes: [5] }),
    /deepstack_visual_indexes: expected an empty list, found \[5\]/,
  ],
  [changed({}, { out_hidden_size: 1000 }), /out_hidden_size: expected text_config\.hidden_size = 1024/],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseQwen35Config(config, 'dir/config.json')).toThrow(message);
  expect(() => parseQwen35Config(config, 'dir/config.json')).toThrow('dir/config.json');
});
