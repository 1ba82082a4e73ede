import { invalid, unsupported } from '@ui-rl/openai-api';
import type { Datum, LossInput } from '@ui-rl/plugin-kit';
import type { ChosenLoss } from '../losses';
import type { TrainingRequest, WireDatum, WireTensor } from '../wire/training-request';
import type { RequestImages } from './images';
import { readInput, type TokenRange } from './model-inputs';

export interface ReadData {
  data: Datum[];
  /** Hashes of images that are held until the data are released. */
  hashes: string[];
}

/** Converts data to the engine's form. @throws ApiError that names the fault */
export async function readData(
  { data }: Pick<TrainingRequest, 'data'>,
  { inputs }: Pick<ChosenLoss, 'inputs'>,
  images: RequestImages,
  range: TokenRange,
): Promise<ReadData> {
  const read: ReadData = { data: [], hashes: [] };
  try {
    for (const [index, datum] of data.entries()) {
      const path = `data[${index}]`;
      const { input, length, hashes } = await readInput(datum.chunks, `${path}.model_input`, images, range);
      read.hashes.push(...hashes);
      read.data.push({
        modelInput: input,
        ...arraysOf(datum, length, `${path}.loss_fn_inputs`, inputs, range),
      });
    }
    return read;
  } catch (error) {
    images.release(read.hashes);
    throw error;
  }
}

function arraysOf(
  { inputs: given }: WireDatum,
  length: number,
  path: string,
  wanted: ChosenLoss['inputs'],
  { vocabSize }: TokenRange,
): Pick<Datum, 'targetTokens' | 'weights' | 'lossInputs'> {
  const known = ['target_tokens', 'weights', ...Object.keys(wanted)];
  const unknown = [...given.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw unsupported(`${path}.${unknown}`, `is nothing the loss reads here; it reads ${known.join(', ')}`);
  }
  const array = (name: string): readonly number[] => {
    const tensor = given.get(name);
    if (tensor === undefined) throw invalid(`${path}.${name}`, 'is missing');
    return byPosition(tensor, `${path}.${name}`, length);
  };
  const targetTokens = array('target_tokens');
  const at = targetTokens.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize);
  if (at >= 0)
    throw invalid(`${path}.target_tokens[${at}]`, `${targetTokens[at]} is not a token of the model`);
  const weights = given.has('weights') ? array('weights') : new Array<number>(length).fill(1);
  const lossInputs = Object.entries(wanted).map(([name, ours]): [LossInput, readonly number[]] => [
    ours,
    array(name),
  ]);
  return { targetTokens, weights, lossInputs: Object.fromEntries(lossInputs) };
}

function byPosition({ data, shape }: WireTensor, path: string, length: number): readonly number[] {
  const isList = shape === undefined || shape.length <= 1;
  if (isList && data.length === length) return data;
  const found = isList ? `${data.length}` : `[${shape.join(', ')}]`;
  throw invalid(
    path,
    `has ${found} numbers, expected one for each of the ${length} positions of the model input`,
  );
}
