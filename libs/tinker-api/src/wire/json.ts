import { Fields, invalid, unsupported } from '@ui-rl/openai-api';
import { OUTPUT_TYPE, type SampleOutput, type TrainingOutput } from './protobuf';
import type { TrainingRequest, WireChunk, WireDatum, WireTensor } from './training-request';

const MAX_CHUNKS = 4096;
const MAX_DATA = 4096;

/** The body of `forward_backward` (`forward_backward_input`) or `forward` (`forward_input`). */
export function readTrainingJson(body: unknown, forwardOnly: boolean): TrainingRequest {
  const fields = Fields.of(body);
  fields.note('type');
  const name = forwardOnly ? 'forward_input' : 'forward_backward_input';
  const input = Fields.of(fields.raw(name) ?? {}, name);
  const request = {
    modelId: fields.requiredText('model_id'),
    ...seqIdOf(fields),
    lossFn: input.requiredText('loss_fn'),
    lossConfig: optionsOf(input.raw('loss_fn_config'), input.at('loss_fn_config')),
    data: required(input, 'data').map((each, index) => readDatum(each, input.at(`data[${index}]`))),
    forwardOnly,
    scoresAll: fields.boolean('untrained_logprobs') ?? true,
  };
  input.end();
  fields.end();
  return request;
}

export function seqIdOf(fields: Fields): { seqId?: number } {
  const seqId = fields.number('seq_id', { integer: true });
  return seqId === undefined ? {} : { seqId };
}

function required(fields: Fields, name: string): unknown[] {
  const list = fields.list(name, MAX_DATA);
  if (list === undefined || list.length === 0) throw fields.missing(name);
  return list;
}

function readDatum(value: unknown, path: string): WireDatum {
  const fields = Fields.of(value, path);
  const input = fields.raw('model_input');
  const inputs = fields.raw('loss_fn_inputs') ?? {};
  if (typeof inputs !== 'object' || Array.isArray(inputs)) {
    throw invalid(fields.at('loss_fn_inputs'), 'expected an object');
  }
  const datum = {
    chunks: readModelInput(input, fields.at('model_input')),
    inputs: new Map(
      Object.entries(inputs).map(([name, each]) => [
        name,
        readTensor(each, `${fields.at('loss_fn_inputs')}.${name}`),
      ]),
    ),
  };
  fields.end();
  return datum;
}

/** `{chunks: […]}`. */
export function readModelInput(value: unknown, path: string): WireChunk[] {
  const fields = Fields.of(value, path);
  const chunks = fields.list('chunks', MAX_CHUNKS) ?? [];
  fields.end();
  return chunks.map((each, index) => readChunk(each, `${path}.chunks[${index}]`));
}

function readChunk(value: unknown, path: string): WireChunk {
  const fields = Fields.of(value, path);
  const type = fields.text('type') ?? 'encoded_text';
  if (type === 'image_asset_pointer') {
    throw unsupported(path, 'is an image by its address; nothing is fetched for a caller: send its bytes');
  }
  if (type === 'dmel') throw unsupported(path, 'is a chunk of sound, which the models here do not hear');
  if (type === 'encoded_text') {
    const tokens = wholeNumbers(fields.raw('tokens'), fields.at('tokens'));
    fields.end();
    return { type: 'text', tokens };
  }
  if (type !== 'image') throw invalid(fields.at('type'), `is "${type}"; expected encoded_text or image`);
  const base64 = fields.requiredText('data');
  fields.note('format');
  const expectedTokens = fields.number('expected_tokens', { min: 0, integer: true });
  fields.end();
  return { type: 'image', base64, expectedTokens };
}

function readTensor(value: unknown, path: string): WireTensor {
  // The form of the first protocol versions.
  if (Array.isArray(value)) return { data: numbers(value, path) };
  const fields = Fields.of(value, path);
  for (const name of ['sparse_crow_indices', 'sparse_col_indices']) {
    if (fields.raw(name) !== undefined) throw unsupported(fields.at(name), 'arrays are sent whole here');
  }
  fields.note('dtype');
  const data = numbers(fields.raw('data'), fields.at('data'));
  const shape = fields.raw('shape');
  fields.end();
  return { data, ...(shape === undefined ? {} : { shape: wholeNumbers(shape, fields.at('shape')) }) };
}

function wholeNumbers(value: unknown, path: string): number[] {
  const list = numbers(value, path);
  const at = list.findIndex((each) => !Number.isSafeInteger(each));
  if (at < 0) return list;
  throw invalid(`${path}[${at}]`, `is ${list[at]}, expected a whole number`);
}

function numbers(value: unknown, path: string): number[] {
  if (!Array.isArray(value)) throw invalid(path, 'expected a list of numbers');
  const at = value.findIndex((each) => typeof each !== 'number');
  if (at >= 0) throw invalid(`${path}[${at}]`, 'expected a number');
  return value as number[];
}

function optionsOf(value: unknown, path: string): Record<string, number | string> {
  if (value === undefined) return {};
  const fields = Fields.of(value, path);
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([name, each]) => {
      const found = typeof each === 'string' ? fields.text(name) : fields.number(name, {});
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

export function trainingJson({ outputs, metrics }: TrainingOutput): object {
  const tensor = (data: Float32Array): object => ({
    data: Array.from(data),
    dtype: 'float32',
    shape: [data.length],
  });
  return {
    loss_fn_output_type: OUTPUT_TYPE,
    loss_fn_outputs: outputs.map((each) =>
      Object.fromEntries(Object.entries(each).map(([name, data]) => [name, tensor(data)])),
    ),
    metrics,
  };
}

export function sampleJson({ sequences, promptLogprobs }: SampleOutput): object {
  return {
    type: 'sample',
    sequences: sequences.map(({ tokens, logprobs, stopReason }) => ({
      tokens,
      logprobs,
      stop_reason: stopReason,
    })),
    prompt_logprobs:
      promptLogprobs === undefined
        ? null
        : Array.from(promptLogprobs, (each) => (Number.isNaN(each) ? null : each)),
  };
}
