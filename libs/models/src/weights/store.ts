import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ModelError } from '../errors';
import {
  decodeFloats,
  isFile,
  readSafetensorsHeader,
  readTensorBytes,
  type FloatTensor,
  type TensorEntry,
} from './safetensors';

/** A frozen weight as a graph constant: mapped from its file where that is possible, else held in memory. */
export type WeightData =
  { external: { path: string; offset: number; length: number } } | { data: Float32Array };

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/**
 * The weights of a model folder by name: where each lies and what shape it has.
 * float32 tensors are never copied: {@link constant} points into the file, and ONNX Runtime maps it. bf16 and fp16 tensors
 * are converted to float32 once and kept in memory (twice their size on disk), because CPU kernels compute in float32.
 */
export class WeightStore {
  /** by the name in the file */
  private readonly converted = new Map<string, Float32Array>();

  private constructor(
    readonly source: string,
    private readonly entries: ReadonlyMap<string, TensorEntry>,
    /** what a weight may be called in the files, besides its own name */
    private readonly checkpointName: (name: string) => string = (name) => name,
  ) {}

  /**
   * Opens `model.safetensors` or the shards named by `model.safetensors.index.json` in a folder.
   * @param checkpointName see `Family.checkpointName`
   */
  static async open(dir: string, checkpointName?: (name: string) => string): Promise<WeightStore> {
    const single = resolve(dir, 'model.safetensors');
    if (await isFile(single)) {
      return new WeightStore(single, (await readSafetensorsHeader(single)).entries, checkpointName);
    }
    const index = resolve(dir, 'model.safetensors.index.json');
    if (await isFile(index)) return new WeightStore(index, await readShards(dir, index), checkpointName);
    throw new ModelError(
      'missing-file',
      `${dir}: holds no weights; expected model.safetensors or model.safetensors.index.json`,
    );
  }

  /** The tensors of one safetensors file. */
  static async openFile(file: string): Promise<WeightStore> {
    const path = resolve(file);
    return new WeightStore(path, (await readSafetensorsHeader(path)).entries);
  }

  /** Weights held in memory, for example freshly initialized ones. */
  static fromTensors(tensors: ReadonlyMap<string, FloatTensor>): WeightStore {
    const entries = new Map<string, TensorEntry>();
    const store = new WeightStore('memory', entries);
    for (const [name, { shape, data }] of tensors) {
      entries.set(name, { name, dtype: 'F32', shape, file: '', offset: 0, length: data.byteLength });
      store.converted.set(name, data);
    }
    return store;
  }

  names(): string[] {
    return [...this.entries.keys()];
  }

  has(name: string): boolean {
    return this.find(name) !== undefined;
  }

  /**
   * The entry of a tensor.
   * @throws ModelError naming the file when it is missing or has another shape than expected.
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

  private find(name: string): TensorEntry | undefined {
    for (let next = name; ;) {
      const entry = this.entries.get(next);
      const other = this.checkpointName(next);
      if (entry !== undefined || other === next) return entry;
      next = other;
    }
  }

  /** Checks that every expected tensor is there with its shape. */
  check(expected: Iterable<{ name: string; shape: readonly number[] }>): void {
    for (const { name, shape } of expected) this.entry(name, shape);
  }

  /** Brings bf16/fp16 tensors into memory as float32; must run before {@link constant}. */
  async prepare(names: Iterable<string> = this.entries.keys()): Promise<void> {
    for (const name of names) {
      const entry = this.entry(name);
      if (entry.dtype !== 'F32' && !this.converted.has(entry.name)) {
        this.converted.set(entry.name, decodeFloats(entry, await readTensorBytes(entry)));
      }
    }
  }

  /** A weight as graph constant. bf16/fp16 tensors must have been {@link prepare}d. */
  constant(name: string, expectedShape?: readonly number[]): WeightData {
    const entry = this.entry(name, expectedShape);
    const data = this.converted.get(entry.name);
    if (data !== undefined) return { data };
    if (entry.dtype !== 'F32') {
      throw new ModelError(
        'bad-input',
        `tensor "${name}" is ${entry.dtype}: call prepare() before it becomes a constant`,
      );
    }
    return { external: { path: entry.file, offset: entry.offset, length: entry.length } };
  }

  /** A private float32 copy of a weight, for example to train it. */
  async read(name: string, expectedShape?: readonly number[]): Promise<Float32Array> {
    const entry = this.entry(name, expectedShape);
    const data = this.converted.get(entry.name);
    return data === undefined ? decodeFloats(entry, await readTensorBytes(entry)) : data.slice();
  }
}

async function readShards(dir: string, index: string): Promise<Map<string, TensorEntry>> {
  let weightMap: Record<string, string> | undefined;
  try {
    weightMap = (JSON.parse(await readFile(index, 'utf8')) as { weight_map?: Record<string, string> })
      .weight_map;
  } catch (cause) {
    throw new ModelError('bad-file', `${index}: is not JSON`, { cause });
  }
  if (typeof weightMap !== 'object' || weightMap === null) {
    throw new ModelError('bad-file', `${index}: has no "weight_map" object`);
  }
  const headers = new Map<string, ReadonlyMap<string, TensorEntry>>();
  const entries = new Map<string, TensorEntry>();
  for (const [name, shard] of Object.entries(weightMap)) {
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
