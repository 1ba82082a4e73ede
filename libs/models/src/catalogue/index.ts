import { otherConfigs } from './others';
import { qwenConfigs } from './qwen';

const configs: Readonly<Record<string, Record<string, unknown>>> = { ...qwenConfigs, ...otherConfigs };

/** Hub ids of the well-known models, whose shapes are bundled. */
export function knownModels(): string[] {
  return Object.keys(configs);
}

/** The config.json of a well-known model; undefined for others. */
export function knownConfig(id: string): Record<string, unknown> | undefined {
  return Object.hasOwn(configs, id) ? structuredClone(configs[id]) : undefined;
}
