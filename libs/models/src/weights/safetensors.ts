import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { readFully } from '@ui-rl/graph';
import { ModelError } from '../errors';
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './half';

/** Element types of safetensors headers that this lib reads. */
export type SafetensorsDtype = 'F32' | 'BF16' | 'F16' | 'I64' | 'I32' | 'U8' | 'BOOL';

const elementBytes: Record<SafetensorsDtype, number> = {
  F32: 4,
  BF16: 2,
  F16: 2,
  I64: 8,
  I32: 4,
  U8: 1,
  BOOL: 1,
};

/** Location of a tensor: `offset` and `length` are bytes within `file`. */
export interface TensorEntry {
  name: string;
  dtype: SafetensorsDtype;
  shape: number[];
  file: string;
  offset: number;
  length: number;
}

/** The header of one safetensors file. */
export interface SafetensorsHeader {
  entries: Map<string, TensorEntry>;
  metadata: Record<string, string>;
}

/** A float32 tensor in memory, row-major. */
export interface FloatTensor {
  shape: number[];
  data: Float32Array;
}

const maxHeaderBytes = 100_000_000;

function bad(file: string, message: string, cause?: unknown): ModelError {
  return new ModelError('bad-file', `${file}: ${message}`, { cause });
}

async function readHeaderBytes(file: string): Promise<{ json: string; dataStart: number; size: number }> {
  const handle = await open(file, 'r').catch((cause: unknown) => {
    throw new ModelError('missing-file', `${file}: cannot be opened`, { cause });
  });
  try {
    const { size } = await handle.stat();
    const prefix = Buffer.alloc(8);
    const { bytesRead } = await handle.read(prefix, 0, 8, 0);
    if (bytesRead < 8)
      throw bad(file, `holds ${size} bytes; a safetensors file begins with an 8-byte length`);
    const length = Number(prefix.readBigUInt64LE(0));
    if (length > maxHeaderBytes || length + 8 > size) {
      throw bad(
        file,
        `its header claims ${length} bytes but the file holds ${size}: truncated or not safetensors`,
      );
    }
    const header = Buffer.alloc(length);
    await handle.read(header, 0, length, 8);
    return { json: header.toString('utf8'), dataStart: 8 + length, size };
  } finally {
    await handle.close();
  }
}

interface RawEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

function isRawEntry(value: unknown): value is RawEntry {
  const entry = value as Partial<RawEntry> | null;
  return (
    typeof entry === 'object' &&
    entry !== null &&
    typeof entry.dtype === 'string' &&
    Array.isArray(entry.shape) &&
    entry.shape.every((dim) => Number.isInteger(dim) && dim >= 0) &&
    Array.isArray(entry.data_offsets) &&
    entry.data_offsets.length === 2
  );
}

function parseEntry(file: string, name: string, raw: unknown, dataStart: number, size: number): TensorEntry {
  if (!isRawEntry(raw)) throw bad(file, `tensor "${name}": malformed header entry ${JSON.stringify(raw)}`);
  if (!(raw.dtype in elementBytes)) {
    const known = Object.keys(elementBytes).join(', ');
    throw new ModelError(
      'unsupported',
      `${file}: tensor "${name}" has dtype ${raw.dtype}; supported: ${known}`,
    );
  }
  const dtype = raw.dtype as SafetensorsDtype;
  const [begin, end] = raw.data_offsets;
  const expected = raw.shape.reduce((a, b) => a * b, 1) * elementBytes[dtype];
  if (end - begin !== expected) {
    throw bad(
      file,
      `tensor "${name}": ${dtype} of shape [${raw.shape.join(', ')}] takes ${expected} bytes, its header says ${end - begin}`,
    );
  }
  if (begin < 0 || dataStart + end > size) {
    throw bad(
      file,
      `tensor "${name}": ends at byte ${dataStart + end} but the file holds ${size}: the file is truncated`,
    );
  }
  return { name, dtype, shape: raw.shape, file, offset: dataStart + begin, length: expected };
}

/**
 * Reads the header of a safetensors file: its tensors and their locations.
 * @throws ModelError naming file and tensor if the file is truncated or its header is inconsistent.
 */
export async function readSafetensorsHeader(file: string): Promise<SafetensorsHeader> {
  const { json, dataStart, size } = await readHeaderBytes(file);
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (cause) {
    throw bad(file, 'its header is not JSON', cause);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw bad(file, 'its header is not a JSON object');
  }
  const { __metadata__: metadata = {}, ...tensors } = parsed as Record<string, unknown>;
  const entries = new Map(
    Object.entries(tensors).map(([name, raw]) => [name, parseEntry(file, name, raw, dataStart, size)]),
  );
  return { entries, metadata: metadata as Record<string, string> };
}

/** Reads the bytes of one tensor to the start of a new buffer. */
export async function readTensorBytes(entry: TensorEntry): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(entry.length);
  const handle = await open(entry.file, 'r');
  try {
    const done = await readFully(handle, bytes, entry.offset);
    if (done < entry.length)
      throw bad(entry.file, `tensor "${entry.name}": the file ended while it was read`);
  } finally {
    await handle.close();
  }
  return bytes.buffer;
}

/** Decodes a floating-point tensor to float32. bf16 and fp16 are converted exactly, at twice the memory. */
export function decodeFloats(entry: TensorEntry, bytes: ArrayBuffer): Float32Array {
  switch (entry.dtype) {
    case 'F32':
      return new Float32Array(bytes);
    case 'BF16':
      return fromBfloat16(new Uint16Array(bytes));
    case 'F16':
      return fromFloat16(new Uint16Array(bytes));
    default:
      throw new ModelError(
        'unsupported',
        `${entry.file}: tensor "${entry.name}" is ${entry.dtype}; expected F32, BF16 or F16`,
      );
  }
}

/** Reads every tensor of a safetensors file as float32, in the order of the header. */
export async function readSafetensors(file: string): Promise<Map<string, FloatTensor>> {
  const { entries } = await readSafetensorsHeader(file);
  const tensors = new Map<string, FloatTensor>();
  for (const entry of entries.values()) {
    tensors.set(entry.name, { shape: entry.shape, data: decodeFloats(entry, await readTensorBytes(entry)) });
  }
  return tensors;
}

/** float32 numbers in the file representation of that type. */
export function encodeFloats(data: Float32Array, dtype: FloatDtype): Uint8Array {
  const encoded = dtype === 'F32' ? data : dtype === 'BF16' ? toBfloat16(data) : toFloat16(data);
  return new Uint8Array(encoded.buffer, encoded.byteOffset, encoded.byteLength);
}

/** Floating-point types for written files. */
export type FloatDtype = 'F32' | 'BF16' | 'F16';

/** Type of written tensors; default float32. */
export interface WriteOptions {
  dtype?: FloatDtype;
  metadata?: Record<string, string>;
}

/** Size of a tensor in a file of that type, in bytes. */
export function tensorBytes(shape: readonly number[], dtype: SafetensorsDtype): number {
  return shape.reduce((a, b) => a * b, 1) * elementBytes[dtype];
}

/**
 * The length and header of a file with these tensors in that order. The data starts at a multiple of 64 bytes, so
 * that a reader can map it.
 */
export function encodeHeader(
  tensors: Iterable<{ name: string; shape: readonly number[] }>,
  { dtype = 'F32', metadata = { format: 'pt' } }: WriteOptions,
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const { name, shape } of tensors) {
    const length = tensorBytes(shape, dtype);
    header[name] = { dtype, shape, data_offsets: [offset, offset + length] };
    offset += length;
  }
  const json = Buffer.from(JSON.stringify(header));
  const bytes = new Uint8Array(Math.ceil((json.length + 8) / 64) * 64).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(bytes.length - 8), true);
  bytes.set(json, 8);
  return bytes;
}

function checkSize(name: string, { shape, data }: FloatTensor): void {
  const elements = shape.reduce((a, b) => a * b, 1);
  if (elements === data.length) return;
  throw new ModelError(
    'bad-input',
    `tensor "${name}": shape [${shape.join(', ')}] needs ${elements} numbers, ${data.length} were given`,
  );
}

/**
 * The bytes of a safetensors file, piece by piece. Names are sorted, so that equal tensors give equal bytes.
 * @throws ModelError if a tensor's shape does not match its data.
 */
function* safetensorsChunks(
  tensors: ReadonlyMap<string, FloatTensor>,
  options: WriteOptions = {},
): Generator<Uint8Array> {
  const sorted = [...tensors.keys()].toSorted().map((name) => ({ name, ...tensors.get(name)! }));
  for (const { name, ...tensor } of sorted) checkSize(name, tensor);
  yield encodeHeader(sorted, options);
  for (const { data } of sorted) yield encodeFloats(data, options.dtype ?? 'F32');
}

/** Writes tensors to a safetensors file, whose bytes depend only on the tensors and options. */
export async function writeSafetensors(
  file: string,
  tensors: ReadonlyMap<string, FloatTensor>,
  options: WriteOptions = {},
): Promise<void> {
  const handle = await open(file, 'w');
  try {
    for (const chunk of safetensorsChunks(tensors, options)) await handle.writeFile(chunk);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Hex sha256 of the file that {@link writeSafetensors} would write: the identity of an adapter or of full weights.
 */
export function tensorsDigest(tensors: ReadonlyMap<string, FloatTensor>, options: WriteOptions = {}): string {
  const hash = createHash('sha256');
  for (const chunk of safetensorsChunks(tensors, options)) hash.update(chunk);
  return hash.digest('hex');
}

/** Whether a path is an existing file. */
export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
