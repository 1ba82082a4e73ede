import { readdir } from 'node:fs/promises';
import { ModelError } from '../errors';

type Json = Record<string, unknown>;

/** Sections of config.json that describe quantized weights: transformers; older compressed-tensors; MLX. */
const sections = ['quantization_config', 'compression_config', 'quantization'];

/** Files of other quantizers: AutoGPTQ, AutoAWQ, NVIDIA's ModelOpt. */
const files = ['quantize_config.json', 'quant_config.json', 'hf_quant_config.json'];

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

/** Describes the quantization of a folder's weights; undefined if there is no sign of one. */
async function quantizationOf(dir: string, config: Json): Promise<string | undefined> {
  for (const [prefix, part] of [['', config] as const, ['text_config.', config.text_config] as const]) {
    if (!isObject(part)) continue;
    for (const section of sections) {
      const found = part[section];
      if (!isObject(found)) continue;
      const method = found.quant_method ?? found.quant_algo ?? `${JSON.stringify(found.bits)} bits`;
      return `config.json says ${prefix}${section} (quant_method ${JSON.stringify(method)})`;
    }
  }
  const names: string[] = await readdir(dir).catch(() => []);
  const file = files.find((name) => names.includes(name));
  return file === undefined ? undefined : `it holds ${file}`;
}

/**
 * The error for unreadable weights: the quantization, if the folder declares one. A folder that declares one beside
 * plain weights is read normally.
 */
export async function unreadableWeights(error: unknown, dir: string, config: Json): Promise<unknown> {
  if (!(error instanceof ModelError) || error.category === 'missing-file') return error;
  const quantization = await quantizationOf(dir, config);
  if (quantization === undefined) return error;
  return new ModelError(
    'unsupported',
    `${dir}: ${quantization}: its weights are quantized; expected float32, bfloat16 or float16. Take the model that was ` +
      'quantized, as its makers published it, or dequantize this one with the tool that quantized it; to save memory, ' +
      `engine.quantization: int8 (or int4) quantizes plain weights when they are loaded. Found: ${error.message}`,
    { cause: error },
  );
}

/** Weights in other formats in a folder without safetensors, for messages. */
export async function otherWeightFiles(dir: string): Promise<string[]> {
  const names: string[] = await readdir(dir).catch(() => []);
  return names.filter((name) => /\.(gguf|bin|pt|pth|h5|msgpack|npz)$/.test(name)).toSorted();
}
