import { readdir } from 'node:fs/promises';
import { ModelError } from '../errors';

type Json = Record<string, unknown>;

/** Where config.json says that weights were quantized: transformers; older compressed-tensors; MLX. */
const sections = ['quantization_config', 'compression_config', 'quantization'];

/** Where other programs say it: AutoGPTQ, AutoAWQ, NVIDIA's ModelOpt. */
const files = ['quantize_config.json', 'quant_config.json', 'hf_quant_config.json'];

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

/** How the weights of a folder were quantized, in words; undefined where nothing says so. */
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
 * What is told of weights that cannot be read: where the folder says that they were quantized, that is the reason. A folder that
 * says so beside plain weights is read like any other.
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

/** Weights in other formats that a folder without safetensors holds, for messages. */
export async function otherWeightFiles(dir: string): Promise<string[]> {
  const names: string[] = await readdir(dir).catch(() => []);
  return names.filter((name) => /\.(gguf|bin|pt|pth|h5|msgpack|npz)$/.test(name)).toSorted();
}
