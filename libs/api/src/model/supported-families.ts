import { familyOf, knownConfig, knownModels, supportedModelTypes } from '@ui-rl/models';

/** A family that can be loaded. */
export interface SupportedFamily {
  model_type: string;
  family: string | null;
  /** Well-known models of it. */
  models: string[];
}

/** Every kind of model that can be loaded, with well-known models of it. */
export function supportedFamilies(): SupportedFamily[] {
  const known = knownModels().map((id) => ({ id, family: familyOf(knownConfig(id), id) }));
  return supportedModelTypes().map((type) => {
    const models = known.filter(({ family }) => family.shape.modelType === type);
    return { model_type: type, family: models[0]?.family.name ?? null, models: models.map(({ id }) => id) };
  });
}
