import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigReader } from '../config-reader';
import { ModelError } from '../errors';
import { readJsonObject } from '../json-file';
import { hubModelOf } from '../hub/name';
import type { Family, LinearSpec } from '../families/base';
import { namesInFiles } from '../families/common/names-in-files';
import { readSafetensors, writeSafetensors, type FloatTensor } from '../weights/safetensors';
import {
  isTargetedByWeight,
  loraParameters,
  planLora,
  weightName,
  type LoraConfig,
  type LoraPlan,
} from './plan';

export const ADAPTER_CONFIG = 'adapter_config.json';
const weightsFile = 'adapter_model.safetensors';

/** An adapter read from a PEFT folder. */
export interface LoadedAdapter {
  plan: LoraPlan;
  /** by PEFT name */
  tensors: Map<string, FloatTensor>;
  /** `base_model_name_or_path`, if it is set */
  baseModel: string | null;
}

/** Names a hub model by its id and commit: the path of its cache folder differs between machines. */
export function baseModelFields(baseModel: string | null): Record<string, unknown> {
  const hub = baseModel === null ? undefined : hubModelOf(baseModel);
  if (hub === undefined) return { base_model_name_or_path: baseModel };
  return { base_model_name_or_path: hub.id, revision: hub.revision };
}

function configOf(plan: LoraPlan, baseModel: string | null): Record<string, unknown> {
  return {
    alpha_pattern: plan.config.alphaPattern ?? {},
    ...baseModelFields(baseModel),
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    lora_alpha: plan.config.alpha,
    lora_bias: false,
    lora_dropout: plan.config.dropout,
    modules_to_save: null,
    peft_type: 'LORA',
    r: plan.config.rank,
    rank_pattern: plan.config.rankPattern ?? {},
    target_modules: plan.targetModules,
    target_parameters: plan.targetParameters.length > 0 ? plan.targetParameters : null,
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: plan.config.rslora ?? false,
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
  await writeFile(join(dir, ADAPTER_CONFIG), `${JSON.stringify(configOf(plan, baseModel), null, 2)}\n`);
}

function checkTensors(plan: LoraPlan, tensors: ReadonlyMap<string, FloatTensor>, where: string): void {
  const expected = loraParameters(plan);
  for (const { name, shape } of expected) {
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
  const known = new Set(expected.map(({ name }) => name));
  const other = [...tensors.keys()].find((name) => !known.has(name));
  if (other !== undefined) {
    throw new ModelError(
      'unsupported',
      `${where}: tensor "${other}" belongs to no targeted linear layer of the model`,
    );
  }
}

/** PEFT settings that affect an adapter's computation and that this lib supports only with these values. */
const neutral: Record<string, (value: unknown) => boolean> = {
  bias: (value) => value === 'none',
  fan_in_fan_out: (value) => value === false,
  lora_bias: (value) => value === false,
  use_dora: (value) => value === false,
  use_qalora: (value) => value === false,
  init_lora_weights: leavesBaseWeights,
  modules_to_save: isEmpty,
  layer_replication: isEmpty,
  trainable_token_indices: isEmpty,
  alora_invocation_tokens: isEmpty,
  arrow_config: isEmpty,
  kasa_config: isEmpty,
  monteclora_config: isEmpty,
  use_bdlora: isEmpty,
};

/** Some initializations of an adapter modify the base weights. */
function leavesBaseWeights(value: unknown): boolean {
  return typeof value === 'boolean' || ['gaussian', 'eva', 'orthogonal', 'mica'].includes(value as string);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function parseConfig(
  json: unknown,
  file: string,
): { reader: ConfigReader; config: Omit<LoraConfig, 'targets'> } {
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
    dropout: reader.number('lora_dropout', 0),
    rslora: reader.boolean('use_rslora', false),
    rankPattern: numbersOf(reader, 'rank_pattern'),
    alphaPattern: numbersOf(reader, 'alpha_pattern'),
  };
  return { reader, config };
}

/** A field that maps names to numbers. */
function numbersOf(reader: ConfigReader, key: string): Record<string, number> {
  if (!reader.has(key)) return {};
  const section = reader.section(key);
  return Object.fromEntries(section.keys().map((name) => [name, section.number(name)]));
}

/**
 * The layers to which an adapter's tensors belong. Parameters that PEFT targets directly are listed in
 * `target_parameters`, because the names of their tensors do not identify a weight of a module.
 */
function adaptedLayers(reader: ConfigReader, names: Iterable<string>, family: Family): string[] {
  const layers = new Set<string>();
  const targeted = reader.has('target_parameters') ? reader.strings('target_parameters') : [];
  const weights = family.linears().filter(isTargetedByWeight);
  for (const target of targeted) {
    const found = weights.filter((linear) => `.${weightName(linear)}`.endsWith(`.${target}`));
    if (found.length === 0) throw reader.error('target_parameters', `routers or experts of ${family.name}`);
    for (const { name } of found) layers.add(name);
  }
  const keys = new Set(weights.filter(({ name }) => layers.has(name)).flatMap(keysWithin));
  for (const name of names) {
    const module = /^base_model\.model\.(.+)\.lora_[AB]\.weight$/.exec(name)?.[1] ?? name;
    if (!keys.has(module)) layers.add(module);
  }
  return [...layers];
}

/**
 * Possible names of the module that holds a weight's matrices: for a router its own name, for experts their module's,
 * wrapped or not.
 */
function keysWithin({ name, stack }: LinearSpec): string[] {
  if (stack === undefined) return [name];
  const module = name.slice(0, name.lastIndexOf('.'));
  return [module, `${module}.base_layer`];
}

const loraTensor = /^(base_model\.model\.)(.+)(\.lora_[AB]\.weight)$/;

/**
 * Renames the tensors to current module names. Adapters from before transformers 4.52, and from before 5, use the
 * module names of their time; checkpoint names have changed in the same way.
 */
function withPresentNames(
  tensors: ReadonlyMap<string, FloatTensor>,
  family: Family,
  where: string,
): Map<string, FloatTensor> {
  const present = new Map(
    family
      .linears()
      .flatMap(({ name }) => namesInFiles(name, family.checkpointName).map((old) => [old, name])),
  );
  const renamed = new Map<string, FloatTensor>();
  for (const [name, tensor] of tensors) {
    const today = name.replace(
      loraTensor,
      (_, head: string, module: string, tail: string) => `${head}${present.get(module) ?? module}${tail}`,
    );
    if (renamed.has(today)) {
      throw new ModelError(
        'bad-file',
        `${where}: adapter tensor "${today}" is there twice, also as "${name}"`,
      );
    }
    renamed.set(today, tensor);
  }
  return renamed;
}

/**
 * Reads a PEFT adapter folder for a model. Its tensors determine which layers it adapts, and `target_parameters` the
 * directly targeted parameters.
 * @throws ModelError if it is not a LoRA adapter, uses an unsupported feature, or does not fit the model.
 */
export async function loadAdapter(dir: string, family: Family): Promise<LoadedAdapter> {
  const file = join(dir, ADAPTER_CONFIG);
  const json = await readJsonObject(file, `a PEFT adapter folder holds ${ADAPTER_CONFIG} and ${weightsFile}`);
  const weights = join(dir, weightsFile);
  const tensors = withPresentNames(await readSafetensors(weights), family, weights);
  const { reader, config } = parseConfig(json, file);
  const baseModel = reader.has('base_model_name_or_path') ? reader.string('base_model_name_or_path') : null;
  const targets = adaptedLayers(reader, tensors.keys(), family);
  const known = new Set(family.linears().map(({ name }) => name));
  const foreign = targets.find((name) => !known.has(name));
  if (foreign !== undefined) {
    const tensor = [...tensors.keys()].find((name) => name.includes(foreign)) ?? foreign;
    throw new ModelError(
      'bad-file',
      `${weights}: tensor "${tensor}" belongs to no linear layer of ${family.name}: is the adapter one of another model?` +
        (baseModel === null ? '' : ` It was made for "${baseModel}".`),
    );
  }
  const plan = planLora(family, { ...config, targets });
  checkTensors(plan, tensors, weights);
  return { plan, tensors, baseModel };
}
