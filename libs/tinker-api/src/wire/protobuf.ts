import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { invalid, unsupported } from '@ui-rl/openai-api';
import type { TrainingRequest, WireChunk, WireDatum, WireTensor } from './training-request';

/*
 * The messages of Tinker's package `tinker_public`, of which the official client sends ForwardBackwardRequest and
 * reads ForwardBackwardOutput and SampleResponse. Field numbers: src/tinker/proto/tinker_public_pb2.pyi of
 * thinking-machines-lab/tinker.
 */

const FLOAT32 = 1;
const INT64 = 2;
const STOP_REASONS = { stop: 0, length: 1 } as const;

/**
 * Calls `read` with each field, which must read it or return false.
 * @throws ApiError that names an unknown field, whose request would otherwise be ignored
 */
function eachField(
  bytes: Uint8Array,
  message: string,
  read: (field: number, reader: BinaryReader) => unknown,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const begin = reader.pos;
    if (read(field, reader) === false) {
      throw unsupported('body', `has field ${field} of tinker_public.${message}, which is not known here`);
    }
    // Accepted but ignored.
    if (reader.pos === begin) reader.skip(type, field);
  }
}

/** @throws ApiError if the bytes are not such a message */
export function readTrainingRequest(bytes: Uint8Array): TrainingRequest {
  try {
    return trainingRequest(bytes);
  } catch (error) {
    if (error instanceof Error && error.name === 'ApiError') throw error;
    throw invalid('body', 'is not a message tinker_public.ForwardBackwardRequest');
  }
}

function trainingRequest(bytes: Uint8Array): TrainingRequest {
  const data: WireDatum[] = [];
  const numbers: Record<string, number> = {};
  // Newer clients also send all options here, and texts only here.
  const options: Record<string, number | string> = {};
  const request = { modelId: '', seqId: 0, lossFn: '', forwardOnly: false };
  eachField(bytes, 'ForwardBackwardRequest', (field, reader) => {
    if (field === 1) request.modelId = reader.string();
    else if (field === 2) request.seqId = reader.int32();
    else if (field === 3) data.push(datum(reader.bytes(), `data[${data.length}]`));
    else if (field === 4) request.lossFn = reader.string();
    else if (field === 5) {
      const [name, value] = entry(reader.bytes(), (each) => each.double());
      numbers[name] = value ?? 0;
    } else if (field === 6) request.forwardOnly = reader.bool();
    else if (field === 7) {
      const [name, value] = entry(reader.bytes(), (each) => lossOption(each.bytes()));
      options[name] = value ?? 0;
    } else return false;
    return true;
  });
  const { seqId, ...others } = request;
  const lossConfig = { ...numbers, ...options };
  // An absent number is 0 in this format; the client counts from 1.
  return { ...others, ...(seqId === 0 ? {} : { seqId }), data, lossConfig, scoresAll: true };
}

function lossOption(bytes: Uint8Array): number | string {
  let found: number | string = 0;
  eachField(bytes, 'LossConfigValue', (field, reader) => {
    if (field === 1) found = reader.double();
    else if (field === 2) found = reader.string();
    else return false;
    return true;
  });
  return found;
}

/** Provenance of tokens, which does not affect the computation here. */
const PROVENANCE = [3, 4];

function datum(bytes: Uint8Array, path: string): WireDatum {
  const chunks: WireChunk[] = [];
  const inputs = new Map<string, WireTensor>();
  eachField(bytes, 'Datum', (field, reader) => {
    if (field === 1) chunks.push(chunk(reader.bytes(), `${path}.model_input[${chunks.length}]`));
    else if (field === 2) {
      const [name, value] = entry(reader.bytes(), (each) => each.bytes());
      inputs.set(name, tensor(value ?? new Uint8Array(), `${path}.loss_fn_inputs.${name}`));
    } else return PROVENANCE.includes(field);
    return true;
  });
  return { chunks, inputs };
}

function entry<T>(
  bytes: Uint8Array,
  read: (reader: BinaryReader) => T,
): [name: string, value: T | undefined] {
  let [name, value]: [string, T | undefined] = ['', undefined];
  eachField(bytes, 'MapEntry', (field, reader) => {
    if (field === 1) name = reader.string();
    else if (field === 2) value = read(reader);
    else return false;
    return true;
  });
  return [name, value];
}

function chunk(bytes: Uint8Array, path: string): WireChunk {
  let found: WireChunk | undefined;
  eachField(bytes, 'Chunk', (field, reader) => {
    if (field === 1) found = { type: 'text', tokens: encodedText(reader.bytes()) };
    else if (field === 2) found = image(reader.bytes(), path);
    else if (field === 3)
      throw invalid(path, 'is a chunk of sound (dmel), which the models here do not hear');
    else return false;
    return true;
  });
  if (found === undefined) throw invalid(path, 'is not a chunk of text or image');
  return found;
}

function encodedText(bytes: Uint8Array): number[] {
  let tokens: number[] = [];
  eachField(bytes, 'EncodedTextChunk', (field, reader) => {
    if (field !== 1) return false;
    tokens = Array.from(new Int32Array(aligned(reader.bytes(), 4)));
    return true;
  });
  return tokens;
}

function image(bytes: Uint8Array, path: string): WireChunk {
  const found: { base64: string; expectedTokens?: number } = { base64: '' };
  eachField(bytes, 'ImageChunk', (field, reader) => {
    if (field === 1) found.base64 = Buffer.from(reader.bytes()).toString('base64');
    else if (field === 3) found.expectedTokens = reader.int32();
    else if (field === 4)
      throw unsupported(`${path}.override_dimensions`, 'is not supported here: an image has its own size');
    // The bytes show its format.
    else return field === 2;
    return true;
  });
  return { type: 'image', ...found };
}

function tensor(bytes: Uint8Array, path: string): WireTensor {
  let [dense, type]: [Uint8Array, number] = [new Uint8Array(), 0];
  const shape: number[] = [];
  eachField(bytes, 'Tensor', (field, reader) => {
    if (field === 1) dense = reader.bytes();
    else if (field === 2) throw invalid(path, 'is sparse; expected one number for each position');
    else if (field === 3) type = reader.int32();
    else if (field === 4) shape.push(...packedNumbers(reader.bytes()));
    else return false;
    return true;
  });
  if (type === FLOAT32) return { data: Array.from(new Float32Array(aligned(dense, 4))), shape };
  if (type === INT64) return { data: Array.from(new BigInt64Array(aligned(dense, 8)), Number), shape };
  throw invalid(path, `has the type ${type}; expected float32 or int64`);
}

function packedNumbers(bytes: Uint8Array): number[] {
  const reader = new BinaryReader(bytes);
  const numbers: number[] = [];
  while (reader.pos < reader.len) numbers.push(Number(reader.int64()));
  return numbers;
}

/** A copy with the alignment that typed arrays require. */
function aligned(bytes: Uint8Array, size: number): ArrayBuffer {
  if (bytes.length % size !== 0)
    throw new Error(`${bytes.length} bytes are not an array of ${size} bytes each`);
  return Uint8Array.from(bytes).buffer;
}

/** The result of `forward_backward`: arrays by name, one per datum with as many numbers as it has positions. */
export interface TrainingOutput {
  outputs: readonly Readonly<Record<string, Float32Array>>[];
  metrics: Readonly<Record<string, number>>;
}

export const OUTPUT_TYPE = 'scalar';

export function writeTrainingOutput({ outputs, metrics }: TrainingOutput): Uint8Array {
  const writer = new BinaryWriter().uint32(tag(1)).string(OUTPUT_TYPE);
  if (outputs.length > 0) writer.uint32(tag(2)).bytes(arrayRecord(outputs));
  for (const [name, value] of Object.entries(metrics)) {
    const pair = new BinaryWriter().uint32(tag(1)).string(name).uint32(tag(2, 1)).double(value);
    writer.uint32(tag(3)).bytes(pair.finish());
  }
  return writer.finish();
}

function arrayRecord(outputs: TrainingOutput['outputs']): Uint8Array {
  const writer = new BinaryWriter().uint32(tag(1)).string(OUTPUT_TYPE);
  for (const name of Object.keys(outputs[0])) {
    const field = new BinaryWriter().uint32(tag(1)).string(name);
    field.uint32(tag(2)).bytes(batchedTensor(outputs.map((each) => each[name])));
    writer.uint32(tag(2)).bytes(field.finish());
  }
  return writer.uint32(tag(3, 0)).int64(outputs.length).finish();
}

function batchedTensor(arrays: readonly Float32Array[]): Uint8Array {
  const offsets = [0];
  for (const { byteLength } of arrays) offsets.push(offsets[offsets.length - 1] + byteLength);
  const data = Buffer.concat(arrays.map(bytesOf));
  return new BinaryWriter()
    .uint32(tag(1))
    .bytes(data)
    .uint32(tag(2))
    .bytes(bytesOf(BigInt64Array.from(offsets, BigInt)))
    .uint32(tag(3, 0))
    .int32(FLOAT32)
    .finish();
}

export interface SampleOutput {
  sequences: readonly {
    tokens: readonly number[];
    logprobs: readonly number[];
    stopReason: 'stop' | 'length';
  }[];
  /** One per token of the prompt; NaN where there is no value. */
  promptLogprobs?: Float32Array;
}

export function writeSampleOutput({ sequences, promptLogprobs }: SampleOutput): Uint8Array {
  const writer = new BinaryWriter();
  for (const { tokens, logprobs, stopReason } of sequences) {
    const sequence = new BinaryWriter()
      .uint32(tag(1, 0))
      .int32(STOP_REASONS[stopReason])
      .uint32(tag(2))
      .bytes(bytesOf(Int32Array.from(tokens)))
      .uint32(tag(3))
      .bytes(bytesOf(Float32Array.from(logprobs)));
    writer.uint32(tag(1)).bytes(sequence.finish());
  }
  if (promptLogprobs !== undefined) writer.uint32(tag(2)).bytes(bytesOf(promptLogprobs));
  return writer.finish();
}

/** A length-delimited field unless another wire type is given: 0 integers, 1 doubles. */
function tag(field: number, wireType = 2): number {
  return field * 8 + wireType;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
