import { availableParallelism } from 'node:os';
import type { Device, SessionOptions } from '@ui-rl/graph';
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
import { shareReporter, type ProgressReporter } from '../progress';

/** How the weights of a model folder are held. */
export interface BaseOptions {
  modelDir: string;
  /** Type of frozen weights; default `auto`: as they are stored, small models as float32. */
  weights?: WeightType;
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

export async function openBase(options: BaseOptions, onProgress: ProgressReporter): Promise<Base> {
  const { modelDir, weights, cacheDir } = options;
  // Where `auto` makes a copy, that is float32.
  const type = weights === undefined || weights === 'auto' ? 'fp32' : weights;
  const folder = await loadModelFolder(modelDir, {
    ...(weights === undefined ? {} : { weights }),
    ...(cacheDir === undefined ? {} : { cacheDir }),
    onProgress: shareReporter(onProgress, `a copy of the weights in ${type} is made`),
  });
  return { folder, quantized: await quantize(folder, options, onProgress) };
}

export function sessionOptions(
  { folder }: Base,
  { device, threads = availableParallelism() }: { device: Device; threads?: number },
): SessionOptions {
  return {
    device,
    threads,
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
