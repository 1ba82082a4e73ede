import { availableParallelism } from 'node:os';
import type { Device, DeviceWeights, SessionOptions } from '@ui-rl/graph';
import {
  defaultCacheDir,
  loadModelFolder,
  matricesOf,
  QuantizedWeights,
  type Family,
  type ModelFolder,
  type QuantizableWeight,
  type Quantization,
  type WeightType,
} from '@ui-rl/models';
import { EngineError } from '../errors';
import { shareReporter, type ProgressReporter } from '../progress';
import { SPIN_BRIEFLY } from './spinning';

export type ComputeType = 'fp32' | 'fp16';

/** How to load the weights of a model folder. */
export interface BaseOptions {
  modelDir: string;
  /** Type of frozen weights. Default `auto`: as stored; small models as float32. */
  weights?: WeightType;
  /**
   * Type for products with frozen weights. Default `fp32`. `fp16` requires WebGPU and also stores the weights in that
   * type.
   */
  compute?: ComputeType;
  /** Block quantization of frozen linear layers, with one scale per 32 numbers. Default `none`. */
  quantization?: 'none' | Quantization;
  /** Folder for converted and quantized copies of weights. Default `~/.cache/ui-rl`. */
  cacheDir?: string;
}

/** The frozen weights that all sampling and training uses. */
export interface Base {
  folder: ModelFolder;
  quantized: QuantizedWeights | undefined;
}

/** From this many weights on, sessions do not keep the memory of their last pass: together they would take gigabytes. */
const LARGE_FOR_TRAINING = 500_000_000;
const LARGE_FOR_SAMPLING = 1_000_000_000;

export async function openBase(
  options: BaseOptions & { device: Device },
  onProgress: ProgressReporter,
): Promise<Base> {
  const { modelDir, cacheDir, device } = options;
  const load = (weights: WeightType): Promise<ModelFolder> => {
    // Where `auto` creates a copy, it is float32.
    const type = weights === 'auto' ? 'fp32' : weights;
    return loadModelFolder(modelDir, {
      weights,
      cacheDir,
      onProgress: shareReporter(onProgress, `a copy of the weights in ${type} is made`),
    });
  };
  const opened = await load(weightType(options));
  const folder = device === 'webgpu' && holdsBfloat16(opened) ? await load('fp16') : opened;
  return { folder, quantized: await quantize(folder, options, onProgress) };
}

/** Throws an `EngineError` of category `request` if a device cannot store or compute the requested type. */
function weightType({
  device,
  weights = 'auto',
  compute = 'fp32',
  quantization = 'none',
}: BaseOptions & { device: Device }): WeightType {
  if (device === 'webgpu' && weights === 'bf16') {
    throw new EngineError(
      'request',
      'dtype is bf16, a type that WebGPU does not have; take fp16, fp32, or auto, which holds bf16 weights as fp16 there',
    );
  }
  if (compute === 'fp32') return weights;
  if (device !== 'webgpu') {
    throw new EngineError(
      'request',
      `compute is fp16 and the device ${device}; only webgpu computes in fp16`,
    );
  }
  if (quantization !== 'none') {
    throw new EngineError(
      'request',
      `compute is fp16 and quantization ${quantization}: products with quantized weights are not computed in fp16`,
    );
  }
  if (weights === 'fp32') {
    throw new EngineError(
      'request',
      'compute is fp16 and dtype fp32; products in fp16 need weights in fp16 (or auto)',
    );
  }
  return 'fp16';
}

function holdsBfloat16({ family, weights }: ModelFolder): boolean {
  return family.parameters().some(({ name }) => weights.constant(name).dtype === 'bfloat16');
}

/** @param constants source of frozen weights for WebGPU sessions */
export function sessionOptions(
  { folder }: Base,
  {
    device,
    threads = availableParallelism(),
    compute,
    constants,
  }: { device: Device; threads?: number; compute?: ComputeType; constants?: DeviceWeights | undefined },
): SessionOptions {
  return {
    device,
    threads,
    constants,
    halfProducts: compute === 'fp16',
    // Each session has its own threads: spinning idle ones would take the cores from the session that works.
    spinning: false,
    arena: weightsOf(folder.family) < LARGE_FOR_SAMPLING,
  };
}

/** Session options for training passes, whose results take more memory than those of sampling. */
export function trainingSession(session: SessionOptions, folder: ModelFolder): SessionOptions {
  return { ...session, ...SPIN_BRIEFLY, arena: keepsTrainingMemory(folder.family) };
}

/** Whether a training session keeps the memory of its last pass. */
export function keepsTrainingMemory(family: Family): boolean {
  return weightsOf(family) < LARGE_FOR_TRAINING;
}

/**
 * Quantizes linear layers if requested. Routers keep their stored precision, because rounding could change their
 * choices.
 */
function quantize(
  { family, weights }: ModelFolder,
  { quantization = 'none', cacheDir = defaultCacheDir() }: BaseOptions,
  onProgress: ProgressReporter,
): Promise<QuantizedWeights | undefined> {
  if (quantization === 'none') return Promise.resolve(undefined);
  const matrices = family
    .linears()
    .filter(({ group }) => group !== 'router')
    .flatMap(({ name, inFeatures, outFeatures, stack }): QuantizableWeight[] =>
      stack === undefined
        ? [{ name: `${name}.weight`, shape: [outFeatures, inFeatures] }]
        : matricesOf(name, [stack.count, outFeatures, inFeatures]),
    );
  const onShare = shareReporter(onProgress, `a copy of the weights in ${quantization} is made`);
  return QuantizedWeights.open(weights, matrices, quantization, cacheDir, onShare);
}

function weightsOf(family: Family): number {
  return family.parameters().reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
}
