import { qwen35Config } from '../qwen3-5/published';

type Json = Record<string, unknown>;

function qwen35Moe(): Record<string, unknown> {
  const tower = { depth: 27, hidden_size: 1152, intermediate_size: 4304, num_heads: 16 };
  const size = { hidden: 2048, intermediate: 1, layers: 40, heads: 16, kvHeads: 2, valueHeads: 32, tower };
  const dense = qwen35Config(size);
  const { intermediate_size: _, ...text } = dense.text_config as Record<string, unknown>;
  const experts = {
    model_type: 'qwen3_5_moe_text',
    moe_intermediate_size: 512,
    num_experts: 256,
    num_experts_per_tok: 8,
    shared_expert_intermediate_size: 512,
    tie_word_embeddings: false,
  };
  return {
    ...dense,
    architectures: ['Qwen3_5MoeForConditionalGeneration'],
    model_type: 'qwen3_5_moe',
    tie_word_embeddings: false,
    text_config: { ...text, ...experts },
    vision_config: { ...(dense.vision_config as object), model_type: 'qwen3_5_moe_vision' },
  };
}

/** config.json of published models, by hub id. */
export const published: Readonly<Record<string, Json>> = {
  'Qwen/Qwen3.5-35B-A3B': qwen35Moe(),
};
