import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownConfig, loadPromptFolder, writeRandomModel } from '@ui-rl/models';
import { shippedModel } from './places';

/** Measured models: the shipped one, and architectures with random weights, stored as float16. */
export const SHAPES = {
  small: { source: 'the shipped model' },
  '256M': { source: 'HuggingFaceTB/SmolVLM-256M-Instruct' },
  '2B': { source: 'Qwen/Qwen2-VL-2B-Instruct' },
  /** two of its layers and a small vocabulary, for a quick look */
  'two layers': { source: 'Qwen/Qwen2-VL-2B-Instruct', layers: 2 },
} as const;

export type ModelName = keyof typeof SHAPES;

export function isModel(name: string | undefined): name is ModelName {
  return name !== undefined && Object.hasOwn(SHAPES, name);
}

/** Folder of a model below `dir`. */
export function folderOf(dir: string, name: ModelName): string {
  return join(dir, name.replaceAll(' ', '-'));
}

/** Creates the folder of a model for the measurements. */
export async function makeModel(dir: string, name: ModelName): Promise<void> {
  const out = folderOf(dir, name);
  if (name === 'small') return copyWithoutEnd(shippedModel, out);
  const shape = SHAPES[name];
  const config = knownConfig(shape.source)!;
  await writeRandomModel({
    out,
    config: 'layers' in shape ? withFewLayers(config, shape.layers) : config,
    source: shape.source,
    tokenizerFrom: shippedModel,
    seed: 1,
    // Random numbers for billions of weights would take minutes.
    repeats: true,
    dtype: 'F16',
    maxShardBytes: 2 ** 30,
  });
}

type Json = Record<string, unknown>;

function withFewLayers(config: Json, layers: number): Json {
  const vision = config.vision_config as Json;
  const words = 2048;
  const tokens = Object.keys(config)
    .filter((name) => name.endsWith('_token_id'))
    .map((name, index) => [name, words - 1 - index] as const);
  return {
    ...config,
    ...Object.fromEntries(tokens),
    vocab_size: words,
    num_hidden_layers: layers,
    vision_config: { ...vision, depth: layers },
  };
}

/**
 * Links the files of a model, with an end-of-turn token that is never sampled, the image placeholder: all answers
 * have the same length.
 */
async function copyWithoutEnd(from: string, to: string): Promise<void> {
  const { family, tokenizer } = await loadPromptFolder(from);
  mkdirSync(to, { recursive: true });
  const config = 'tokenizer_config.json';
  for (const name of readdirSync(from)) {
    if (name !== config && name !== 'generation_config.json') symlinkSync(join(from, name), join(to, name));
  }
  const settings = JSON.parse(readFileSync(join(from, config), 'utf8')) as Json;
  const never = tokenizer.tokenOf(family.shape.imageTokenId);
  writeFileSync(join(to, config), JSON.stringify({ ...settings, eos_token: never }));
}
