import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError } from '../errors';
import { encodeFloats, encodeHeader, tensorBytes, type FloatDtype } from './safetensors';

const indexFile = 'model.safetensors.index.json';

/** A tensor that is generated while it is written. */
export interface StreamedTensor {
  name: string;
  shape: readonly number[];
  /** its numbers, row-major, in pieces of any length; a piece is not read after the next one is requested */
  pieces: () => Iterable<Float32Array>;
}

/** How {@link writeSharded} writes. */
export interface ShardOptions {
  dtype: FloatDtype;
  /** maximum data size of a file; only a tensor that exceeds it gets a larger file, alone */
  maxShardBytes: number;
  onBytes?: (written: number) => void;
  /** aborts between two pieces; removes the files written so far */
  signal?: AbortSignal;
}

/** The tensors of one file, in order. */
interface Shard {
  file: string;
  tensors: StreamedTensor[];
}

/** Assigns tensors to files in order, within the size limit if possible. */
function planShards(tensors: readonly StreamedTensor[], { dtype, maxShardBytes }: ShardOptions): Shard[] {
  const groups: StreamedTensor[][] = [];
  let remaining = 0;
  for (const tensor of tensors) {
    const bytes = tensorBytes(tensor.shape, dtype);
    if (groups.length === 0 || bytes > remaining) {
      groups.push([]);
      remaining = maxShardBytes;
    }
    groups[groups.length - 1].push(tensor);
    remaining -= bytes;
  }
  if (groups.length === 1) return [{ file: 'model.safetensors', tensors: groups[0] }];
  const padded = (number: number): string => String(number).padStart(5, '0');
  return groups.map((group, index) => ({
    file: `model-${padded(index + 1)}-of-${padded(groups.length)}.safetensors`,
    tensors: group,
  }));
}

/** Buffer that collects pieces for few, large writes. */
const BUFFER_BYTES = 8 * 2 ** 20;

class BufferedFile {
  private readonly buffer = new Uint8Array(BUFFER_BYTES);
  private used = 0;

  constructor(
    private readonly handle: FileHandle,
    private readonly options: ShardOptions,
  ) {}

  async add(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const part = bytes.subarray(done, done + this.buffer.length - this.used);
      this.buffer.set(part, this.used);
      this.used += part.length;
      done += part.length;
      if (this.used === this.buffer.length) await this.flush();
    }
  }

  async flush(): Promise<void> {
    this.options.signal?.throwIfAborted();
    await this.handle.writeFile(this.buffer.subarray(0, this.used));
    this.options.onBytes?.(this.used);
    this.used = 0;
  }
}

async function writeTensors(handle: FileHandle, tensors: readonly StreamedTensor[], options: ShardOptions) {
  const file = new BufferedFile(handle, options);
  await file.add(encodeHeader(tensors, { dtype: options.dtype }));
  for (const { name, shape, pieces } of tensors) {
    let missing = tensorBytes(shape, options.dtype);
    for (const piece of pieces()) {
      const bytes = encodeFloats(piece, options.dtype);
      missing -= bytes.length;
      await file.add(bytes);
    }
    if (missing !== 0) {
      const difference = missing > 0 ? `${missing} bytes too few` : `${-missing} bytes too many`;
      throw new ModelError('bad-input', `tensor "${name}": ${difference} were given for its shape`);
    }
  }
  await file.flush();
  await handle.sync();
}

/**
 * Writes tensors to the weight files of a model folder, one piece at a time: `model.safetensors`, or, if they do not
 * fit into one file, `model-0000x-of-0000n.safetensors` and the index. Returns the names of the files; removes them
 * on failure.
 * @throws ModelError if a tensor gives fewer or more numbers than its shape has.
 */
export async function writeSharded(
  dir: string,
  tensors: readonly StreamedTensor[],
  options: ShardOptions,
): Promise<string[]> {
  const shards = planShards(tensors, options);
  const written: string[] = [];
  const create = async (name: string, write: (handle: FileHandle) => Promise<void>): Promise<void> => {
    const handle = await open(join(dir, name), 'wx');
    written.push(name);
    try {
      await write(handle);
    } finally {
      await handle.close();
    }
  };
  try {
    for (const { file, tensors: group } of shards) {
      await create(file, (handle) => writeTensors(handle, group, options));
    }
    if (shards.length > 1) {
      await create(indexFile, (handle) => handle.writeFile(indexJson(shards, options.dtype)));
    }
    return written;
  } catch (error) {
    for (const name of written) await rm(join(dir, name), { force: true });
    throw error;
  }
}

function indexJson(shards: readonly Shard[], dtype: FloatDtype): string {
  const weightMap = shards.flatMap(({ file, tensors }) => tensors.map(({ name }) => [name, file] as const));
  const size = shards
    .flatMap(({ tensors }) => tensors)
    .reduce((sum, { shape }) => sum + tensorBytes(shape, dtype), 0);
  const index = { metadata: { total_size: size }, weight_map: Object.fromEntries(weightMap) };
  return `${JSON.stringify(index, null, 2)}\n`;
}
