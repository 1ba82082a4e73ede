import { join } from 'node:path';
import type { Family, ParameterSpec } from '../families/base';
import { cacheKey, makeFile } from './cache-file';
import { encodeFloats, encodeHeader, isFile, type FloatDtype } from './safetensors';
import { WeightStore } from './store';

/**
 * In which type frozen weights are held: `auto` converts small models to float32 and leaves large ones as they are stored. All
 * else is mapped from files: where the model's own are of another type, from a converted copy in the cache.
 */
export type WeightType = 'auto' | 'fp32' | 'bf16' | 'fp16';

/** Models that take no more than this as float32 are converted in memory. */
const HOLD_LIMIT = 1024 ** 3;

const fileTypes: Record<Exclude<WeightType, 'auto'>, FloatDtype> = { fp32: 'F32', bf16: 'BF16', fp16: 'F16' };

/** Whether `auto` converts the weights of a model to float32 in memory. */
export function isHeldAsFloat32(family: Pick<Family, 'parameters'>): boolean {
  return isSmall(family.parameters());
}

function isSmall(parameters: readonly ParameterSpec[]): boolean {
  const elements = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return elements * 4 <= HOLD_LIMIT;
}

/** The weights of a model in the type that is wanted. */
export async function holdWeights(
  store: WeightStore,
  parameters: readonly ParameterSpec[],
  type: WeightType,
  cacheDir: string,
): Promise<WeightStore> {
  if (isSmall(parameters) && (type === 'auto' || type === 'fp32')) {
    await store.holdAsFloat32(parameters.map(({ name }) => name));
    return store;
  }
  if (type === 'auto') return store;
  const dtype = fileTypes[type];
  if (parameters.every(({ name }) => store.entry(name).dtype === dtype)) return store;
  return convertedStore(store, parameters, dtype, cacheDir);
}

/** A copy of the weights in another type, made once. */
async function convertedStore(
  store: WeightStore,
  parameters: readonly ParameterSpec[],
  dtype: FloatDtype,
  cacheDir: string,
): Promise<WeightStore> {
  const stored = parameters.map(({ name }) => ({ name, shape: store.entry(name).shape }));
  const file = join(cacheDir, 'converted', `${await cacheKey(store, stored, dtype)}.safetensors`);
  if (!(await isFile(file))) {
    await makeFile(file, async (handle) => {
      await handle.writeFile(encodeHeader(stored, { dtype }));
      for (const { name } of stored) await handle.writeFile(encodeFloats(await store.read(name), dtype));
    });
  }
  return WeightStore.openFile(file);
}
