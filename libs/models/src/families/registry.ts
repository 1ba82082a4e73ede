import { ModelError } from '../errors';
import type { Family } from './base';
import type { FamilyDefinition } from './definition';
import { gemma3Definition } from './gemma3/definition';
import { idefics2Definition } from './idefics2/definition';
import { idefics3Definition } from './idefics3/definition';
import { internVlDefinition } from './internvl/definition';
import { llavaDefinition } from './llava/definition';
import { llavaOneVisionDefinition } from './llava-onevision/definition';
import { qwen25VlDefinition } from './qwen2-5-vl/definition';
import { qwen2VlDefinition } from './qwen2-vl/definition';
import { qwen35Definition } from './qwen3-5/definition';
import { qwen35MoeDefinition } from './qwen3-5-moe/definition';
import { qwen3VlDefinition } from './qwen3-vl/definition';
import { qwen3VlMoeDefinition } from './qwen3-vl-moe/definition';

/** Every supported family. */
export const familyDefinitions: readonly FamilyDefinition[] = [
  qwen2VlDefinition,
  qwen25VlDefinition,
  qwen3VlDefinition,
  qwen3VlMoeDefinition,
  qwen35Definition,
  qwen35MoeDefinition,
  llavaDefinition,
  llavaOneVisionDefinition,
  idefics2Definition,
  idefics3Definition,
  internVlDefinition,
  gemma3Definition,
];

/** The model types that can be loaded. */
export function supportedModelTypes(): string[] {
  return familyDefinitions.flatMap(({ modelTypes }) => Object.keys(modelTypes));
}

/** The definition of the family with this `model_type`, undefined for others. */
export function definitionOf(modelType: string): FamilyDefinition | undefined {
  return familyDefinitions.find(({ modelTypes }) => Object.hasOwn(modelTypes, modelType));
}

/**
 * The family of a parsed config.json.
 * @throws ModelError that lists the supported model types if this one is not among them.
 */
export function familyOf(json: unknown, file: string): Family {
  const type = (json as { model_type?: unknown } | null)?.model_type;
  const factory = typeof type === 'string' ? definitionOf(type)?.modelTypes[type] : undefined;
  if (factory === undefined) {
    const found = type === undefined ? 'nothing' : JSON.stringify(type);
    const supported = supportedModelTypes().join(', ');
    throw new ModelError('unsupported', `${file}: model_type is ${found}; supported: ${supported}`);
  }
  return factory(json, file);
}
