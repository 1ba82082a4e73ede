import { availableParallelism } from 'node:os';
import type { Device, DeviceWeights, SessionOptions } from '@ui-rl/graph';
import {
  defaultCacheDir,
  loadModelFolder,
  matricesOf,
  QuantizedWeights,
  type ModelFolder,
  type QuantizableWeight,
  type Quantization,
  type WeightType,
} from '@ui-rl/models';
import { EngineError } from '../errors';
import { shareReporter, type ProgressReporter } from '../progress';

export type ComputeType = 'fp32' | 'fp16';

/** How the weights of a model folder are held. */
export interface BaseOptions {
  modelDir: string;
  /** Type of frozen weights; default `auto`: as they are stored, small models as float32. */
  weights?: WeightType;
  /** Type in which products with frozen weights are computed; default `fp32`. `fp16` is of WebGPU, and holds them in that type. */
  compute?: ComputeType;
  /** Frozen linear layers in few bits, with one scale per 32 numbers; default `none`. */
  quantization?: 'none' | Quantization;
  /** Where converted and quantized copies of weights are kept; default `~/.cache/ui-rl`. */
  cacheDir?: string;
}

/** The frozen weights that everything is sampled from and trained over. */
export interface Base {
  folder: ModelFolder;
  quantized: QuantizedWeights | undefined;
}

const LARGE_MODEL = 500_000_000;

export async function openBase(
  options: BaseOptions & { device: Device },
  onProgress: ProgressReporter,
): Promise<Base> {
  const { modelDir, cacheDir, device } = options;
  const load = (weights: WeightType): Promise<ModelFolder> => {
    // Where `auto` makes a copy, that is float32.
    const type = weights === 'auto' ? 'fp32' : weights;
    return loadModelFolder(modelDir, {
      weights,
      ...(cacheDir === undefined ? {} : { cacheDir }),
      onProgress: shareReporter(onProgress, `a copy of the weights in ${type} is made`),
    });
  };
  const opened = await load(weightType(options));
  const folder = device === 'webgpu' && holdsBfloat16(opened) ? await load('fp16') : opened;
  return { folder, quantized: await quantize(folder, options, onProgress) };
}

/** Throws an `EngineError` of category `request` where a device cannot hold or compute what is asked for. */
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

/** @param constants where sessions of WebGPU take frozen weights from */
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
    ...(constants === undefined ? {} : { constants }),
    halfProducts: compute === 'fp16',
    // Each session has threads of its own: idle ones that spin would take the cores from the one that works.
    spinning: false,
    arena: !isLarge(folder),
  };
}

/** Linear layers in few bits, where that is wanted. Routers stay as they are stored: their choices would tip. */
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

/** Whether many sessions that each keep the memory of their last pass would take gigabytes: from half a billion weights on. */
function isLarge({ family }: ModelFolder): boolean {
  const sizes = family.parameters().map(({ shape }) => shape.reduce((a, b) => a * b, 1));
  return sizes.reduce((a, b) => a + b, 0) >= LARGE_MODEL;
}
