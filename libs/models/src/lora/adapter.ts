import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigReader } from '../config-reader';
import { ModelError } from '../errors';
import type { Family } from '../families/base';
import { readSafetensors, writeSafetensors, type FloatTensor } from '../weights/safetensors';
import { loraParameters, planLora, type LoraConfig, type LoraPlan } from './plan';

const configFile = 'adapter_config.json';
const weightsFile = 'adapter_model.safetensors';

/** An adapter read from a PEFT folder. */
export interface LoadedAdapter {
  plan: LoraPlan;
  /** by PEFT name */
  tensors: Map<string, FloatTensor>;
  /** `base_model_name_or_path`, where it is set */
  baseModel: string | null;
}

function configOf(plan: LoraPlan, baseModel: string | null): Record<string, unknown> {
  return {
    alpha_pattern: {},
    base_model_name_or_path: baseModel,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    lora_alpha: plan.config.alpha,
    lora_bias: false,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: 'LORA',
    r: plan.config.rank,
    rank_pattern: {},
    target_modules: plan.targetModules,
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: false,
  };
}

/**
 * Writes an adapter as PEFT does: adapter_config.json and adapter_model.safetensors (float32; its sha256 is
 * `tensorsDigest(tensors)`).
 */
export async function saveAdapter(
  dir: string,
  plan: LoraPlan,
  tensors: ReadonlyMap<string, FloatTensor>,
  baseModel: string | null = null,
): Promise<void> {
  checkTensors(plan, tensors, dir);
  await mkdir(dir, { recursive: true });
  await writeSafetensors(join(dir, weightsFile), tensors);
  await writeFile(join(dir, configFile), `${JSON.stringify(configOf(plan, baseModel), null, 2)}\n`);
}

function checkTensors(plan: LoraPlan, tensors: ReadonlyMap<string, FloatTensor>, where: string): void {
  const wanted = loraParameters(plan);
  for (const { name, shape } of wanted) {
    const found = tensors.get(name);
    if (found === undefined)
      throw new ModelError('bad-file', `${where}: adapter tensor "${name}" is missing`);
    if (found.shape.join() !== shape.join()) {
      throw new ModelError(
        'bad-file',
        `${where}: adapter tensor "${name}" has shape [${found.shape.join(', ')}], expected [${shape.join(', ')}]`,
      );
    }
  }
  const known = new Set(wanted.map(({ name }) => name));
  const other = [...tensors.keys()].find((name) => !known.has(name));
  if (other !== undefined) {
    throw new ModelError(
      'unsupported',
      `${where}: tensor "${other}" belongs to no targeted linear layer of the model`,
    );
  }
}

/** PEFT settings that change what an adapter computes and that this lib does not have: anything but these values. */
const neutral: Record<string, (value: unknown) => boolean> = {
  bias: (value) => value === 'none',
  fan_in_fan_out: (value) => value === false,
  lora_bias: (value) => value === false,
  use_dora: (value) => value === false,
  use_rslora: (value) => value === false,
  use_qalora: (value) => value === false,
  rank_pattern: isEmpty,
  alpha_pattern: isEmpty,
  modules_to_save: isEmpty,
  layer_replication: isEmpty,
  target_parameters: isEmpty,
  trainable_token_indices: isEmpty,
};

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function parseConfig(
  json: unknown,
  file: string,
  modules: string[],
): { config: LoraConfig; baseModel: string | null } {
  const reader = ConfigReader.of(json, file);
  reader.oneOf('peft_type', ['LORA']);
  for (const [key, value] of Object.entries(json as Record<string, unknown>)) {
    if (value !== null && neutral[key]?.(value) === false) {
      throw new ModelError('unsupported', `${file}: ${key} = ${JSON.stringify(value)} is not supported`);
    }
  }
  const config = {
    rank: reader.integer('r'),
    alpha: reader.number('lora_alpha'),
    targets: modules,
    dropout: 0,
  };
  return {
    config,
    baseModel: reader.has('base_model_name_or_path') ? reader.string('base_model_name_or_path') : null,
  };
}

/**
 * Reads a PEFT adapter folder for a model. Which layers it adapts is taken from its tensors; `lora_dropout` says how it was
 * trained and does not matter here.
 * @throws ModelError when it is not a LoRA adapter, uses something unsupported, or does not fit the model.
 */
export async function loadAdapter(dir: string, family: Family): Promise<LoadedAdapter> {
  const file = join(dir, configFile);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ModelError(
      'missing-file',
      `${file}: cannot be read; a PEFT adapter folder holds ${configFile} and ${weightsFile}`,
      {
        cause,
      },
    );
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ModelError('bad-file', `${file}: is not JSON`, { cause });
  }
  const weights = join(dir, weightsFile);
  const tensors = await readSafetensors(weights);
  const modules = [...tensors.keys()].map(
    (name) => /^base_model\.model\.(.+)\.lora_[AB]\.weight$/.exec(name)?.[1] ?? name,
  );
  const { config, baseModel } = parseConfig(json, file, [...new Set(modules)]);
  const plan = planLora(family, config);
  checkTensors(plan, tensors, weights);
  return { plan, tensors, baseModel };
}
