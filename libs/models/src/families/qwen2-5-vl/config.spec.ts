import { familyOf } from '../registry';
import { parseQwen25VlConfig } from './config';
import { windowsOf } from './windows';

/** As in the original Qwen2.5-VL folders (3B, shortened). */
const original = {
  hidden_size: 2048,
  image_token_id: 151655,
  intermediate_size: 11008,
  max_position_embeddings: 128000,
  model_type: 'qwen2_5_vl',
  num_attention_heads: 16,
  num_hidden_layers: 36,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000.0,
  rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
  tie_word_embeddings: true,
  use_sliding_window: false,
  vocab_size: 151936,
  vision_config: {
    depth: 32,
    hidden_act: 'silu',
    hidden_size: 1280,
    intermediate_size: 3420,
    num_heads: 16,
    in_chans: 3,
    out_hidden_size: 2048,
    patch_size: 14,
    spatial_merge_size: 2,
    spatial_patch_size: 14,
    window_size: 112,
    fullatt_block_indexes: [7, 15, 23, 31],
    tokens_per_second: 2,
    temporal_patch_size: 2,
  },
};

test('the weights of the 3B model are those of its checkpoint', () => {
  const parameters = familyOf(original, 'f').parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(parameters).toHaveLength(824);
  expect(count).toBe(3_754_622_976);
});

test('windows are counted in tokens', () => {
  const { vision } = parseQwen25VlConfig(original, 'f');
  expect(vision).toMatchObject({ windowTokens: 4, fullAttentionLayers: [7, 15, 23, 31] });
  const small = { ...original, vision_config: { ...original.vision_config, window_size: 20 } };
  expect(() => parseQwen25VlConfig(small, 'f')).toThrow(
    /vision_config\.window_size: expected at least .* 28/,
  );
});

test('windows tile an image from the upper left; those at the edges are smaller, without gaps', () => {
  // 3 rows and 5 columns of tokens in windows of 2 × 2, up to 4 tokens each.
  const { count, positions } = windowsOf([1, 6, 10], 2, 2);
  expect(count).toBe(6);
  expect(Array.from(positions)).toEqual([...[0, 1, 4, 5, 8], ...[2, 3, 6, 7, 9], ...[12, 13, 16, 17, 20]]);
});
