import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryWriter } from '@bufbuild/protobuf/wire';

const png = readFileSync(join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a/images/0.png')).toString(
  'base64',
);

export const text = (...tokens: number[]) => ({ type: 'encoded_text', tokens });
export const image = { type: 'image', data: png, format: 'png' };
export const tensor = (data: number[], dtype = 'float32') => ({ data, dtype, shape: [data.length] });

/** Text only, because only the server knows the positions of an image's tokens. */
export const words = [10, 20, 30, 40, 50, 60];
export const targets = [...words.slice(1), 70];
export const weights = [0, 0, 1, 1, 0.5, 1];
export const supervised = {
  model_input: { chunks: [text(...words)] },
  loss_fn_inputs: { target_tokens: tensor(targets, 'int64'), weights: tensor(weights) },
};

export function training(
  model_id: string,
  seq_id: number,
  data: object[] = [supervised],
  loss_fn = 'cross_entropy',
) {
  return { model_id, seq_id, forward_backward_input: { data, loss_fn } };
}

export function step(model_id: string, seq_id: number, learning_rate = 1e-2) {
  return { model_id, seq_id, adam_params: { learning_rate, grad_clip_norm: 1 } };
}

/** ForwardBackwardRequest of `supervised`. */
export function protobufRequest(model: string, seq: number): Uint8Array {
  const bytes = (field: number, value: Uint8Array, writer = new BinaryWriter()) =>
    writer.uint32(field * 8 + 2).bytes(value);
  const tensorBytes = (data: ArrayBufferView, type: number) =>
    bytes(1, new Uint8Array(data.buffer))
      .uint32(3 * 8)
      .int32(type)
      .finish();
  const input = (name: string, value: Uint8Array) =>
    bytes(2, value, new BinaryWriter().uint32(10).string(name)).finish();
  const chunk = bytes(1, bytes(1, new Uint8Array(Int32Array.from(words).buffer)).finish()).finish();
  const datum = bytes(1, chunk);
  bytes(2, input('target_tokens', tensorBytes(BigInt64Array.from(targets, BigInt), 2)), datum);
  bytes(2, input('weights', tensorBytes(Float32Array.from(weights), 1)), datum);
  const head = new BinaryWriter()
    .uint32(10)
    .string(model)
    .uint32(2 * 8)
    .int32(seq);
  return bytes(3, datum.finish(), head)
    .uint32(4 * 8 + 2)
    .string('cross_entropy')
    .finish();
}
