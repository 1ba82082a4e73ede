import { basename, join, resolve } from 'node:path';
import { ModelError } from '../errors';
import { readJsonObject } from '../json-file';
import { namesInFiles } from '../families/common/names-in-files';
import {
  decodeFloats,
  isFile,
  readSafetensorsHeader,
  readTensorBytes,
  tensorBytes,
  type FloatTensor,
  type TensorEntry,
  type SafetensorsDtype,
} from './safetensors';
import { otherWeightFiles } from './unreadable-weights';

/** A frozen weight as a graph constant: mapped from its file in its storage type, or float32 in memory. */
export type WeightData =
  | { dtype: 'float32' | 'bfloat16' | 'float16'; external: { path: string; offset: number; length: number } }
  | { dtype: 'float32'; data: Float32Array };

const constantTypes: Partial<Record<SafetensorsDtype, 'float32' | 'bfloat16' | 'float16'>> = {
  F32: 'float32',
  BF16: 'bfloat16',
  F16: 'float16',
};

/** Bytes of tensors to compare at a time. */
const COMPARED_BYTES = 8 * 2 ** 20;

function constantType({ file, name, dtype }: TensorEntry): 'float32' | 'bfloat16' | 'float16' {
  const type = constantTypes[dtype];
  if (type !== undefined) return type;
  throw new ModelError('unsupported', `${file}: tensor "${name}" is ${dtype}; expected F32, BF16 or F16`);
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** Part `index` of `count` equal ones. */
function part(whole: WeightData, index: number, count: number): WeightData {
  if ('data' in whole) {
    const size = whole.data.length / count;
    return { dtype: whole.dtype, data: whole.data.subarray(index * size, (index + 1) * size) };
  }
  const { path, offset, length } = whole.external;
  const size = length / count;
  return { dtype: whole.dtype, external: { path, offset: offset + index * size, length: size } };
}

/** Every matrix of a stack [count, rows, columns] transposed: [count, columns, rows]. */
export function transposeEach(data: Float32Array, [count, rows, columns]: readonly number[]): Float32Array {
  const result = new Float32Array(data.length);
  const size = rows * columns;
  for (let at = 0; at < count * size; at += size) {
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        result[at + column * rows + row] = data[at + row * columns + column];
      }
    }
  }
  return result;
}

/**
 * The weights of a model folder by name, with their locations and shapes. They are not copied: {@link constant}
 * refers to the file, which ONNX Runtime maps. CPU kernels compute in float32, so a graph converts bf16 and fp16
 * weights on each use, unless {@link holdAsFloat32} has converted them once.
 */
export class WeightStore {
  /** by the name in the file */
  private readonly converted = new Map<string, Float32Array>();

  private constructor(
    readonly source: string,
    private readonly entries: ReadonlyMap<string, TensorEntry>,
    /** alternative name of a weight in the files */
    private readonly checkpointName: (name: string) => string = (name) => name,
  ) {}

  /**
   * Opens `model.safetensors` or the shards in `model.safetensors.index.json` of a folder.
   * @param checkpointName see `Family.checkpointName`
   */
  static async open(dir: string, checkpointName?: (name: string) => string): Promise<WeightStore> {
    const single = resolve(dir, 'model.safetensors');
    if (await isFile(single)) {
      return new WeightStore(single, (await readSafetensorsHeader(single)).entries, checkpointName);
    }
    const index = resolve(dir, 'model.safetensors.index.json');
    if (await isFile(index)) return new WeightStore(index, await readShards(dir, index), checkpointName);
    const others = await otherWeightFiles(dir);
    throw new ModelError(
      'missing-file',
      `${dir}: holds no weights${others.length === 0 ? '' : ` that can be read, only ${others.join(', ')}`}; expected ` +
        'model.safetensors or model.safetensors.index.json',
    );
  }

  /** The tensors of one safetensors file. */
  static async openFile(file: string): Promise<WeightStore> {
    const path = resolve(file);
    return new WeightStore(path, (await readSafetensorsHeader(path)).entries);
  }

  /** Weights in memory, for example freshly initialized ones. */
  static fromTensors(tensors: ReadonlyMap<string, FloatTensor>): WeightStore {
    const entries = new Map<string, TensorEntry>();
    const store = new WeightStore('memory', entries);
    for (const [name, { shape, data }] of tensors) {
      entries.set(name, { name, dtype: 'F32', shape, file: '', offset: 0, length: data.byteLength });
      store.converted.set(name, data);
    }
    return store;
  }

  /** Weights with known shapes only (as float32): for graphs that are analysed and never run. */
  static ofShapes(specs: Iterable<{ name: string; shape: readonly number[] }>): WeightStore {
    const entries = new Map<string, TensorEntry>();
    for (const { name, shape } of specs) {
      const length = tensorBytes(shape, 'F32');
      entries.set(name, { name, dtype: 'F32', shape: [...shape], file: 'nowhere', offset: 0, length });
    }
    return new WeightStore('shapes', entries);
  }

  names(): string[] {
    return [...this.entries.keys()];
  }

  has(name: string): boolean {
    return this.find(name) !== undefined;
  }

  /**
   * The entry of a tensor.
   * @throws ModelError naming the file if it is missing or has another shape than expected.
   */
  entry(name: string, expectedShape?: readonly number[]): TensorEntry {
    const entry = this.find(name);
    if (entry === undefined) {
      throw new ModelError(
        'bad-file',
        `${this.source}: tensor "${this.checkpointName(name)}" is missing (${this.entries.size} others found)`,
      );
    }
    if (expectedShape !== undefined && shapeText(entry.shape) !== shapeText(expectedShape)) {
      throw new ModelError(
        'bad-file',
        `${entry.file || this.source}: tensor "${name}" has shape ${shapeText(entry.shape)}, ` +
          `config.json asks for ${shapeText(expectedShape)}`,
      );
    }
    return entry;
  }

  /**
   * The entry of a tensor that may be a stack of matrices (three axes), each transposed in the file.
   * @throws ModelError as {@link entry}.
   */
  locate(name: string, shape: readonly number[]): { entry: TensorEntry; transposed: boolean } {
    const found = this.find(name);
    const [count, out, width] = shape;
    const transposed =
      shape.length === 3 && out !== width && shapeText(found?.shape ?? []) === shapeText([count, width, out]);
    return { entry: this.entry(name, transposed ? found?.shape : shape), transposed };
  }

  private find(name: string): TensorEntry | undefined {
    const found = namesInFiles(name, this.checkpointName).find((each) => this.entries.has(each));
    return found === undefined ? undefined : this.entries.get(found);
  }

  /**
   * Verifies that all expected tensors exist with their shapes and hold floating-point numbers; the matrices of a
   * stack may be transposed.
   * @throws ModelError naming file and tensor.
   */
  check(expected: Iterable<{ name: string; shape: readonly number[] }>): void {
    for (const { name, shape } of expected) constantType(this.locate(name, shape).entry);
  }

  /** Whether two tensors are equal, provided that both have the same type. */
  async areEqual(one: string, other: string): Promise<boolean> {
    const [a, b] = [this.entry(one), this.entry(other)];
    if (a.dtype !== b.dtype || shapeText(a.shape) !== shapeText(b.shape)) return false;
    for (let at = 0; at < a.length; at += COMPARED_BYTES) {
      const length = Math.min(COMPARED_BYTES, a.length - at);
      const parts = [a, b].map((entry) => readTensorBytes({ ...entry, offset: entry.offset + at, length }));
      const [left, right] = await Promise.all(parts);
      if (!Buffer.from(left).equals(Buffer.from(right))) return false;
    }
    return true;
  }

  /**
   * Holds bf16 and fp16 tensors in memory as float32: twice their size on disk, but without conversion on each use.
   */
  async holdAsFloat32(names: Iterable<string> = this.entries.keys()): Promise<void> {
    for (const name of names) {
      const entry = this.entry(name);
      if (entry.dtype !== 'F32' && !this.converted.has(entry.name)) {
        this.converted.set(entry.name, decodeFloats(entry, await readTensorBytes(entry)));
      }
    }
  }

  /**
   * A weight as a graph constant.
   * @throws ModelError naming file and tensor if it does not hold floating-point numbers.
   */
  constant(name: string, expectedShape?: readonly number[]): WeightData {
    const entry = this.entry(name, expectedShape);
    const data = this.converted.get(entry.name);
    if (data !== undefined) return { dtype: 'float32', data };
    return {
      dtype: constantType(entry),
      external: { path: entry.file, offset: entry.offset, length: entry.length },
    };
  }

  /**
   * A stack of matrices [count, out, in] as one constant each, in the layout of the file: [in, out] if `transposed`.
   * A stack of square matrices counts as not transposed.
   */
  stack(
    name: string,
    shape: readonly [number, number, number],
  ): { slices: WeightData[]; transposed: boolean } {
    const { entry, transposed } = this.locate(name, shape);
    const whole = this.constant(name, entry.shape);
    const slices = Array.from({ length: shape[0] }, (_, i) => part(whole, i, shape[0]));
    return { slices, transposed };
  }

  /** A float32 copy of matrix `index` of a stack [count, out, in], as [out, in]. */
  async readMatrix(
    name: string,
    shape: readonly [number, number, number],
    index: number,
  ): Promise<Float32Array> {
    const { entry, transposed } = this.locate(name, shape);
    const [count, ...size] = entry.shape;
    const length = entry.length / count;
    const one: TensorEntry = { ...entry, shape: size, offset: entry.offset + index * length, length };
    const held = this.converted.get(entry.name);
    const width = size[0] * size[1];
    const data =
      held?.slice(index * width, (index + 1) * width) ?? decodeFloats(one, await readTensorBytes(one));
    return transposed ? transposeEach(data, [1, ...size]) : data;
  }

  /**
   * A private float32 copy of a weight, for example to train it; matrices of a stack are transposed to
   * `expectedShape`.
   */
  async read(name: string, expectedShape?: readonly number[]): Promise<Float32Array> {
    const { entry, transposed } = this.locate(name, expectedShape ?? this.entry(name).shape);
    const data = this.converted.get(entry.name);
    if (transposed)
      return transposeEach(data ?? decodeFloats(entry, await readTensorBytes(entry)), entry.shape);
    return data === undefined ? decodeFloats(entry, await readTensorBytes(entry)) : data.slice();
  }
}

async function readShards(dir: string, index: string): Promise<Map<string, TensorEntry>> {
  const { weight_map: weightMap } = await readJsonObject(index);
  if (typeof weightMap !== 'object' || weightMap === null || Array.isArray(weightMap)) {
    throw new ModelError('bad-file', `${index}: has no "weight_map" object`);
  }
  const headers = new Map<string, ReadonlyMap<string, TensorEntry>>();
  const entries = new Map<string, TensorEntry>();
  for (const [name, shard] of Object.entries(weightMap as Record<string, unknown>)) {
    if (typeof shard !== 'string' || basename(shard) !== shard) {
      throw new ModelError(
        'bad-file',
        `${index}: places "${name}" in ${JSON.stringify(shard)}; expected the name of a file in the same folder`,
      );
    }
    if (!headers.has(shard))
      headers.set(shard, (await readSafetensorsHeader(join(resolve(dir), shard))).entries);
    const entry = headers.get(shard)!.get(name);
    if (entry === undefined) {
      throw new ModelError(
        'bad-file',
        `${join(dir, shard)}: tensor "${name}" is missing though ${index} places it there`,
      );
    }
    entries.set(name, entry);
  }
  return entries;
}
