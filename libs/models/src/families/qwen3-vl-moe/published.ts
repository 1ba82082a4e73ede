import { qwen3VlConfig } from '../qwen3-vl/published';

type Json = Record<string, unknown>;

function qwen3VlMoe(): Record<string, unknown> {
  const dense = qwen3VlConfig({ hidden: 2048, intermediate: 6144, layers: 48, heads: 32 });
  const experts = {
    model_type: 'qwen3_vl_moe_text',
    num_key_value_heads: 4,
    decoder_sparse_step: 1,
    mlp_only_layers: [],
    moe_intermediate_size: 768,
    norm_topk_prob: true,
    num_experts: 128,
    num_experts_per_tok: 8,
    tie_word_embeddings: false,
  };
  const tower = {
    deepstack_visual_indexes: [8, 16, 24],
    depth: 27,
    hidden_size: 1152,
    intermediate_size: 4304,
  };
  return {
    ...dense,
    architectures: ['Qwen3VLMoeForConditionalGeneration'],
    model_type: 'qwen3_vl_moe',
    tie_word_embeddings: false,
    text_config: { ...(dense.text_config as object), ...experts },
    vision_config: { ...(dense.vision_config as object), model_type: 'qwen3_vl_moe', ...tower },
  };
}

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'Qwen/Qwen3-VL-30B-A3B-Instruct': qwen3VlMoe(),
};
