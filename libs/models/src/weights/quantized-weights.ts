import { stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExternalData } from '@ui-rl/graph';
import { ModelError } from '../errors';
import { cacheKey, makeFile } from './cache-file';
import { QUANTIZATION_BLOCK, quantize, type Quantization } from './quantize';
import { isFile } from './safetensors';
import type { WeightStore } from './store';

/** Increment when the quantization of the same weights changes. */
const FORMAT = 1;

/** A matrix of quantized weights [N, K], as stored in a file. */
export interface QuantizedWeight {
  kind: Quantization;
  shape: readonly [number, number];
  codes: ExternalData;
  /** float32 [N, K / block] */
  scales: ExternalData;
  /** int4: as many zero points of 8 as there are scales */
  zeroPoints: ExternalData | undefined;
}

/** A weight to quantize: a matrix [N, K], or one matrix of a stack. */
export interface QuantizableWeight {
  name: string;
  shape: readonly [number, number];
  stack?: { name: string; count: number; index: number };
}

/** The matrices of a stack [count, N, K]. */
export function matricesOf(
  name: string,
  [count, ...shape]: readonly [number, number, number],
): QuantizableWeight[] {
  return Array.from({ length: count }, (_, index) => {
    return { name: matrixName(name, index), shape, stack: { name, count, index } };
  });
}

/** Name of matrix `index` of a stack. */
export function matrixName(stack: string, index: number): string {
  return `${stack}.${index}`;
}

/** The location of the original weight in a model. */
function originalOf({ name, shape, stack }: QuantizableWeight): { name: string; shape: readonly number[] } {
  return stack === undefined ? { name, shape } : { name: stack.name, shape: [stack.count, ...shape] };
}

/** Bytes of each region of the file, in order. */
interface Layout {
  bytes: number;
  zeroPointBytes: number;
  regions: Map<string, { codes: number; scales: number }>;
}

function blocksOf([rows, columns]: readonly [number, number]): number {
  return (rows * columns) / QUANTIZATION_BLOCK;
}

function codeBytes([rows, columns]: readonly [number, number], kind: Quantization): number {
  return kind === 'int4' ? (rows * columns) / 2 : rows * columns;
}

/** First the zero points of the largest matrix, which all matrices share; then codes and scales of each. */
function layoutOf(weights: readonly QuantizableWeight[], kind: Quantization): Layout {
  const aligned = (bytes: number): number => Math.ceil(bytes / 64) * 64;
  const zeroPointBytes =
    kind === 'int4' ? Math.ceil(Math.max(0, ...weights.map(({ shape }) => blocksOf(shape))) / 2) : 0;
  const regions: Layout['regions'] = new Map();
  let bytes = aligned(zeroPointBytes);
  for (const { name, shape } of weights) {
    const codes = bytes;
    const scales = codes + aligned(codeBytes(shape, kind));
    regions.set(name, { codes, scales });
    bytes = scales + aligned(4 * blocksOf(shape));
  }
  return { bytes, zeroPointBytes, regions };
}

/**
 * Frozen linear layers in 4 or 8 bits (QLoRA, arXiv:2305.14314, with plain integers), in a file that is created once
 * and then mapped: sessions share its pages.
 */
export class QuantizedWeights {
  private readonly layout: Layout;

  private constructor(
    private readonly file: string,
    readonly kind: Quantization,
    private readonly weights: ReadonlyMap<string, QuantizableWeight>,
  ) {
    this.layout = layoutOf([...weights.values()], kind);
  }

  /**
   * Opens the quantized weights of a model, creating them if necessary.
   * @param weights matrices; those whose row length is not a multiple of the block stay unquantized
   * @param cacheDir folder of the file, whose name depends on the original files
   * @param onProgress share of the completed work
   */
  static async open(
    store: WeightStore,
    weights: readonly QuantizableWeight[],
    kind: Quantization,
    cacheDir: string,
    onProgress: (share: number) => void = () => undefined,
  ): Promise<QuantizedWeights> {
    const fitting = weights.filter(({ shape }) => shape[1] % QUANTIZATION_BLOCK === 0);
    const originals = fitting.filter(({ stack }) => (stack?.index ?? 0) === 0).map(originalOf);
    const key = await cacheKey(store, originals, `${FORMAT} ${kind} ${QUANTIZATION_BLOCK}`);
    const file = join(cacheDir, 'quantized', `${key}.${kind}`);
    const quantized = new QuantizedWeights(file, kind, new Map(fitting.map((each) => [each.name, each])));
    if (!(await isFile(file))) {
      await makeFile(file, (handle) => quantized.writeRegions(handle, store, onProgress));
    }
    const { size } = await stat(file);
    if (size !== quantized.layout.bytes) {
      throw new ModelError(
        'bad-file',
        `${file}: holds ${size} bytes, expected ${quantized.layout.bytes}; remove it, and it is made again`,
      );
    }
    return quantized;
  }

  /** Undefined if a weight is not quantized. */
  get(name: string): QuantizedWeight | undefined {
    const weight = this.weights.get(name);
    const region = this.layout.regions.get(name);
    if (weight === undefined || region === undefined) return undefined;
    const { shape } = weight;
    const at = (offset: number, length: number): ExternalData => ({ path: this.file, offset, length });
    const blocks = blocksOf(shape);
    return {
      kind: this.kind,
      shape,
      codes: at(region.codes, codeBytes(shape, this.kind)),
      scales: at(region.scales, 4 * blocks),
      zeroPoints: this.kind === 'int4' ? at(0, Math.ceil(blocks / 2)) : undefined,
    };
  }

  private async writeRegions(
    handle: FileHandle,
    store: WeightStore,
    onProgress: (share: number) => void,
  ): Promise<void> {
    const { bytes, zeroPointBytes, regions } = this.layout;
    await handle.truncate(bytes);
    await writeAll(handle, new Uint8Array(zeroPointBytes).fill(0x88), 0);
    for (const { name, shape, stack } of this.weights.values()) {
      const numbers =
        stack === undefined
          ? await store.read(name, shape)
          : await store.readMatrix(stack.name, [stack.count, ...shape], stack.index);
      const { codes, scales } = quantize(numbers, this.kind);
      const region = regions.get(name)!;
      await writeAll(handle, codes, region.codes);
      await writeAll(handle, new Uint8Array(scales.buffer), region.scales);
      onProgress((region.scales + scales.byteLength) / bytes);
    }
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}
