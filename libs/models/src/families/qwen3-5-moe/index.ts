import type { ConfigReader } from '../../config-reader';
import type { Family } from '../base';
import type { MixtureConfig } from '../common/mixture';
import { parseQwen35Config } from '../qwen3-5/config';
import { qwen3VlFrom } from '../qwen3-vl';
import type { Qwen3VlConfig } from '../qwen3-vl/config';

/** Every layer has experts, whose weights sum to 1, and a shared expert. */
function parseMixture(reader: ConfigReader): MixtureConfig {
  const experts = reader.integer(reader.has('num_experts') ? 'num_experts' : 'num_local_experts', 256);
  const expertsPerToken = reader.integer('num_experts_per_tok', 8);
  if (expertsPerToken > experts)
    throw reader.error('num_experts_per_tok', `at most num_experts = ${experts}`);
  const layers = Array.from({ length: reader.layers('num_hidden_layers') }, (_, layer) => layer);
  return {
    layers: new Set(layers),
    experts,
    expertsPerToken,
    expertSize: reader.integer('moe_intermediate_size', 512),
    sharedSize: reader.integer('shared_expert_intermediate_size', 512),
    normalized: true,
  };
}

/**
 * Reads the config.json of a Qwen3.5 or 3.6 with experts.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseQwen35MoeConfig(json: unknown, file: string): Qwen3VlConfig {
  return parseQwen35Config(json, file, { mixture: parseMixture, intermediateSize: 1 });
}

/** Qwen3.5 and 3.6 with mixtures of experts as feed-forward networks, such as 35B-A3B. */
export function qwen35Moe(json: unknown, file: string): Family {
  return qwen3VlFrom({ name: 'qwen3-5-moe', modelType: 'qwen3_5_moe' }, parseQwen35MoeConfig(json, file));
}
