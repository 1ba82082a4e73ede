import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { estimateMemory, type MemoryEstimate } from '@ui-rl/engine';
import {
  familyOf,
  HubError,
  knownConfig,
  loadFamily,
  loraParameters,
  planLora,
  WeightStore,
  type Family,
  type LoraConfig,
} from '@ui-rl/models';
import { modelFolder, type FetchOptions } from './model-folder';

/** Dimensions of a run, for the estimate of its memory. */
export interface RunSize {
  /** Rank of the adapters. */
  rank: number;
  /** Sequences generated at once. */
  rows: number;
  /** Tokens of a sequence, prompt and answer together. */
  sequence: number;
}

/** Weights as stored on disk. */
export interface StoredWeights {
  bytes: number;
  /** Number of parameters by stored type. */
  dtypes: Record<string, number>;
}

/** Adapters for one choice of layers. */
export interface AdapterSize {
  targets: string;
  vision: boolean;
  parameters: number;
  layers: number;
}

export interface ModelDescription {
  /** Null for a shape without files. */
  dir: string | null;
  model_type: string;
  family: string;
  parameters: { text: number; vision: number; total: number };
  /** Null if the folder has configuration and tokenizer only. */
  weights: StoredWeights | null;
  adapters: AdapterSize[];
  /** In bytes, for a run that trains an adapter of all linear layers of the decoder. */
  memory: MemoryEstimate;
}

/** Bytes of a parameter of a published model: bf16 or fp16. */
const HALF_BYTES = 2;
const TARGETS = ['attention', 'mlp', 'attention+mlp', 'all-linear'] as const;

/**
 * Describes a model by folder or name, without fetching its weights. Describes a well-known model even if the hub
 * cannot be reached.
 */
export async function describeNamedModel(
  model: string,
  size: RunSize,
  { signal, onProgress }: Omit<FetchOptions, 'weights'>,
): Promise<ModelDescription> {
  const config = knownConfig(model);
  const fetched = modelFolder(model, { weights: false, signal, onProgress });
  const dir = await fetched.catch((error: unknown) => {
    if (config === undefined || !(error instanceof HubError) || error.kind === 'stopped') throw error;
    onProgress(`${error.message}; its shape is known`);
    return undefined;
  });
  return dir === undefined ? describeShape(familyOf(config, model), size) : describeModel(dir, size);
}

/** Describes a model folder: its parameters, the size of adapters for it, and the memory of a run. */
export async function describeModel(dir: string, size: RunSize): Promise<ModelDescription> {
  const family = await loadFamily(dir);
  const weights = await storedWeights(dir, family);
  return { ...describeShape(family, size, weights), dir };
}

/** Like `describeModel`, for a model that is known only by its configuration. */
export function describeShape(
  family: Family,
  { rank, rows, sequence }: RunSize,
  weights: StoredWeights | null = null,
): ModelDescription {
  const parameters = countParameters(family);
  const lora = planLora(family, loraOf(rank, 'all-linear', false));
  const weightBytes = weights?.bytes ?? HALF_BYTES * parameters.total;
  const halfParameters = parameters.total - (weights?.dtypes.F32 ?? 0);
  return {
    dir: null,
    model_type: family.shape.modelType,
    family: family.name,
    parameters,
    weights,
    adapters: TARGETS.flatMap((targets) =>
      [false, true].map((vision) => adapterSize(family, loraOf(rank, targets, vision))),
    ),
    memory: estimateMemory({ family, lora, weightBytes, halfParameters, rows, sequence }),
  };
}

function loraOf(rank: number, targets: (typeof TARGETS)[number], vision: boolean): LoraConfig {
  return { rank, alpha: rank, targets, dropout: 0, vision };
}

function adapterSize(family: Family, config: LoraConfig): AdapterSize {
  const plan = planLora(family, config);
  const parameters = loraParameters(plan).reduce((sum, { shape }) => sum + elements(shape), 0);
  const { targets, vision = false } = config;
  return { targets: String(targets), vision, parameters, layers: plan.modules.length };
}

/** Weights count as vision parameters if their module has linear layers of the vision part. */
export function countParameters(family: Family): ModelDescription['parameters'] {
  const top = (name: string): string => name.split('.').slice(0, 2).join('.');
  const vision = new Set(
    family
      .linears()
      .filter(({ part }) => part === 'vision')
      .map(({ name }) => top(name)),
  );
  const counts = { text: 0, vision: 0, total: 0 };
  for (const { name, shape } of family.parameters()) {
    counts[vision.has(top(name)) ? 'vision' : 'text'] += elements(shape);
    counts.total += elements(shape);
  }
  return counts;
}

function elements(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** Reads the headers of the weight files. */
async function storedWeights(dir: string, family: Family): Promise<StoredWeights | null> {
  const files = ['model.safetensors', 'model.safetensors.index.json'].map((name) => join(dir, name));
  const found = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  if (found.every((each) => each === null)) return null;
  const store = await WeightStore.open(dir, family.checkpointName);
  const weights: StoredWeights = { bytes: 0, dtypes: {} };
  for (const name of store.names()) {
    const { dtype, length, shape } = store.entry(name);
    weights.bytes += length;
    weights.dtypes[dtype] = (weights.dtypes[dtype] ?? 0) + elements(shape);
  }
  return weights;
}
