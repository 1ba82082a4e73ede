import { familyDefinitions } from '../families/registry';

const configs: ReadonlyMap<string, Record<string, unknown>> = new Map(
  familyDefinitions.flatMap(({ published }) => Object.entries(published)),
);

/** Hub ids of the well-known models, whose shapes are bundled. */
export function knownModels(): string[] {
  return [...configs.keys()];
}

/** The config.json of a well-known model; undefined for others. */
export function knownConfig(id: string): Record<string, unknown> | undefined {
  return structuredClone(configs.get(id));
}
