import { join } from 'node:path';
import type { Family, ParameterSpec } from '../families/base';
import { cacheKey, makeFile } from './cache-file';
import { encodeFloats, encodeHeader, isFile, type FloatDtype } from './safetensors';
import { WeightStore } from './store';

/**
 * Type of frozen weights: `auto` uses float32 for models of up to 4 GiB in that type and the stored type for larger ones.
 * Weights are mapped from files, from a converted copy in the cache if the stored type differs; only weights of tiny
 * models are converted in memory.
 */
export type WeightType = 'auto' | 'fp32' | 'bf16' | 'fp16';

/** Models up to this size in float32 are converted in memory, where every session has its own copy. */
const IN_MEMORY_LIMIT = 64 * 1024 ** 2;
/** Up to this size, `auto` is float32. */
const FLOAT32_LIMIT = 4 * 1024 ** 3;

const fileTypes: Record<Exclude<WeightType, 'auto'>, FloatDtype> = { fp32: 'F32', bf16: 'BF16', fp16: 'F16' };

/** Whether `auto` converts the weights of a model to float32 in memory. */
export function isHeldAsFloat32(family: Pick<Family, 'parameters'>): boolean {
  return float32Bytes(family.parameters()) <= IN_MEMORY_LIMIT;
}

/** Whether `auto` maps the weights of a model from a float32 copy if they are stored in another type. */
export function isMappedAsFloat32(family: Pick<Family, 'parameters'>): boolean {
  const bytes = float32Bytes(family.parameters());
  return bytes > IN_MEMORY_LIMIT && bytes <= FLOAT32_LIMIT;
}

function float32Bytes(parameters: readonly ParameterSpec[]): number {
  return 4 * parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
}

/**
 * The weights of a model in the requested type.
 * @param onProgress share of the copy that is written, if one has to be created
 */
export async function holdWeights(
  store: WeightStore,
  parameters: readonly ParameterSpec[],
  type: WeightType,
  cacheDir: string,
  onProgress: (share: number) => void = () => undefined,
): Promise<WeightStore> {
  const bytes = float32Bytes(parameters);
  const target = type === 'auto' && bytes <= FLOAT32_LIMIT ? 'fp32' : type;
  if (target === 'auto') return store;
  if (target === 'fp32' && bytes <= IN_MEMORY_LIMIT) {
    await store.holdAsFloat32(parameters.map(({ name }) => name));
    return store;
  }
  const dtype = fileTypes[target];
  if (parameters.every(({ name }) => store.entry(name).dtype === dtype)) return store;
  return convertedStore(store, parameters, dtype, cacheDir, onProgress);
}

/** A copy of the weights in another type, created once. */
async function convertedStore(
  store: WeightStore,
  parameters: readonly ParameterSpec[],
  dtype: FloatDtype,
  cacheDir: string,
  onProgress: (share: number) => void,
): Promise<WeightStore> {
  const stored = parameters.map(({ name }) => ({ name, shape: store.entry(name).shape }));
  const file = join(cacheDir, 'converted', `${await cacheKey(store, stored, dtype)}.safetensors`);
  if (!(await isFile(file))) {
    await makeFile(file, async (handle) => {
      await handle.writeFile(encodeHeader(stored, { dtype }));
      const total = float32Bytes(parameters);
      let done = 0;
      for (const { name } of stored) {
        const numbers = await store.read(name);
        await handle.writeFile(encodeFloats(numbers, dtype));
        onProgress((done += numbers.byteLength) / total);
      }
    });
  }
  return WeightStore.openFile(file);
}
