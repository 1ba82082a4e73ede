import { familyOf, knownConfig, knownModels, supportedModelTypes } from '@ui-rl/models';

/** A model family that can be loaded. */
export interface SupportedFamily {
  model_type: string;
  family: string | null;
  /** Its well-known models. */
  models: string[];
}

/** All families that can be loaded, with their well-known models. */
export function supportedFamilies(): SupportedFamily[] {
  const known = knownModels().map((id) => ({ id, family: familyOf(knownConfig(id), id) }));
  return supportedModelTypes().map((type) => {
    const models = known.filter(({ family }) => family.shape.modelType === type);
    return { model_type: type, family: models[0]?.family.name ?? null, models: models.map(({ id }) => id) };
  });
}
