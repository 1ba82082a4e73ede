import { ModelError } from '../errors';
import type { Family } from './base';
import { idefics2 } from './idefics2';
import { idefics3, smolVlm } from './idefics3';
import { internVl } from './internvl';
import { llava } from './llava';
import { llavaOneVision } from './llava-onevision';
import { qwen2Vl } from './qwen2-vl';
import { qwen25Vl } from './qwen2-5-vl';
import { qwen35 } from './qwen3-5';
import { qwen35Moe } from './qwen3-5-moe';
import { qwen3Vl } from './qwen3-vl';
import { qwen3VlMoe } from './qwen3-vl-moe';

/** Binds a family to a parsed config.json; errors name `file`. */
export type FamilyFactory = (json: unknown, file: string) => Family;

/** All supported families, by the `model_type` of config.json. */
const families: Record<string, FamilyFactory> = {
  qwen2_vl: qwen2Vl,
  qwen2_5_vl: qwen25Vl,
  qwen3_vl: qwen3Vl,
  qwen3_vl_moe: qwen3VlMoe,
  qwen3_5: qwen35,
  qwen3_5_moe: qwen35Moe,
  llava,
  llava_onevision: llavaOneVision,
  idefics2,
  idefics3,
  smolvlm: smolVlm,
  internvl: internVl,
};

/** The supported model types. */
export function supportedModelTypes(): string[] {
  return Object.keys(families);
}

/**
 * The family of a parsed config.json.
 * @throws ModelError that lists the supported model types if this one is not among them.
 */
export function familyOf(json: unknown, file: string): Family {
  const type = (json as { model_type?: unknown } | null)?.model_type;
  const factory = typeof type === 'string' && Object.hasOwn(families, type) ? families[type] : undefined;
  if (factory === undefined) {
    const found = type === undefined ? 'nothing' : JSON.stringify(type);
    const supported = supportedModelTypes().join(', ');
    throw new ModelError('unsupported', `${file}: model_type is ${found}; supported: ${supported}`);
  }
  return factory(json, file);
}
