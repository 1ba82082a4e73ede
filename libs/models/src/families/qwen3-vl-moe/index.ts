import type { ConfigReader } from '../../config-reader';
import type { Family } from '../base';
import { parseMixture } from '../common/mixture';
import { qwen3VlFrom } from '../qwen3-vl';
import { parseQwen3VlConfig, type Qwen3VlConfig } from '../qwen3-vl/config';

/**
 * Reads the config.json of a Qwen3-VL with experts. Respects `norm_topk_prob` as vLLM does; transformers 5 ignores it
 * and always behaves as if it were true, which it is in the published models.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseQwen3VlMoeConfig(json: unknown, file: string): Qwen3VlConfig {
  const headDim = (reader: ConfigReader): number =>
    reader.integer('hidden_size') / reader.integer('num_attention_heads');
  return parseQwen3VlConfig(json, file, { headDim, mixture: parseMixture });
}

/** Qwen3-VL with mixtures of experts as feed-forward networks, such as 30B-A3B: arXiv:2511.21631. */
export function qwen3VlMoe(json: unknown, file: string): Family {
  const names = { name: 'qwen3-vl-moe', modelType: 'qwen3_vl_moe' };
  return qwen3VlFrom(names, parseQwen3VlMoeConfig(json, file));
}
